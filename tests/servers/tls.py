"""A certificate authority of the test's own, by openssl, and servers that speak TLS and nothing else."""

import os
import ssl
import subprocess

from .net import Garbage
from .process import Folder, find_program


class Authority:
    """
    ca.pem; server.pem/.key for localhost and 127.0.0.1; issue() makes more: other names, client certificates, expired
    ones. The folder can be read by other users, since servers run as one; keys are for their owner (chown).
    """

    def __init__(self):
        self.openssl = find_program("openssl", "openssl")
        self.folder = Folder("tls")
        os.chmod(self.folder.path, 0o755)
        self.ca = self.folder / "ca.pem"
        self._ca_key = self.folder / "ca.key"
        self._run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                  "-keyout", self._ca_key, "-out", self.ca, "-days", "30",
                  "-subj", "/CN=baton test authority",
                  "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self.cert, self.key = self.issue("server", "localhost", ["DNS:localhost", "IP:127.0.0.1"])

    def _run(self, *args):
        done = subprocess.run([self.openssl, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, f"openssl {args[0]}: {done.stderr}"

    def issue(self, file, common_name, alt_names=(), days=30):
        """Returns (certificate, key). days may be negative: then it has expired."""
        cert, key, request = (self.folder / f"{file}{end}" for end in (".pem", ".key", ".csr"))
        extensions = self.folder / f"{file}.ext"
        with open(extensions, "w", encoding="ascii") as out:
            out.write("extendedKeyUsage=serverAuth,clientAuth\n")
            if alt_names:
                out.write(f"subjectAltName={','.join(alt_names)}\n")
        self._run("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                  "-keyout", key, "-out", request, "-subj", f"/CN={common_name}")
        self._run("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self._ca_key,
                  "-CAcreateserial", "-out", cert, "-days", str(days), "-extfile", extensions)
        return cert, key

    def close(self):
        self.folder.close()


def tls_server(cert=None, key=None, ciphers=None, ca=None):
    """
    Takes a TLS handshake, and says nothing. ciphers: these alone, of TLS 1.2. ca: asks for a client certificate of that
    authority, by TLS 1.2.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if cert:
        context.load_cert_chain(cert, key)
    if ciphers or ca:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if ciphers:
        context.set_ciphers(ciphers)
    if ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(ca)
    server = Garbage(b"")

    def handle(sock):
        try:
            with context.wrap_socket(sock, server_side=True) as inside:
                while inside.recv(1000):
                    pass
        except (ssl.SSLError, OSError):
            pass
    server.handle = handle
    return server


def handshake_failures(authority):
    """Two servers, by OpenSSL, whose alert to a client without a certificate is the same: handshake failure."""
    return (tls_server(authority.cert, authority.key, ca=authority.ca),
            # None of those that a client offers by itself.
            tls_server(ciphers="ADH-AES128-GCM-SHA256:@SECLEVEL=0"))
