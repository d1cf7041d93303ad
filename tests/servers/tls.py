"""A certificate authority of the test's own, by openssl, and servers that speak TLS and nothing else."""

import os
import select
import socket
import ssl
import subprocess
import time

from .net import Garbage, Listener
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
        """Returns (certificate, key). days may be negative: then it expired so long ago."""
        cert, key, request = (self.folder / f"{file}{end}" for end in (".pem", ".key", ".csr"))
        extensions = self.folder / f"{file}.ext"
        with open(extensions, "w", encoding="ascii") as out:
            out.write("extendedKeyUsage=serverAuth,clientAuth\n")
            if alt_names:
                out.write(f"subjectAltName={','.join(alt_names)}\n")
        self._run("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                  "-keyout", key, "-out", request, "-subj", f"/CN={common_name}")
        self._run("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self._ca_key,
                  "-CAcreateserial", "-out", cert, *self._validity(days), "-extfile", extensions)
        return cert, key

    def _validity(self, days):
        if days >= 0:
            return ["-days", str(days)]
        help_text = subprocess.run([self.openssl, "x509", "-help"], capture_output=True, text=True, check=False).stderr
        if "-not_after" not in help_text:  # before 3.4, which in turn takes no end before the start
            return ["-days", str(days)]
        end = time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + days * 86400))
        return ["-not_before", "20200101000000Z", "-not_after", end]

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


class TlsFront(Listener):
    """
    Ends TLS, without ALPN, before an API server, as ingresses do: HTTP/1.1, with a connection for each watch. late_s: what the
    server says on those comes so many seconds later.
    """

    def __init__(self, plane, late_s=0):
        self.plane, self.late_s = plane, late_s
        self.inside = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.inside.load_cert_chain(plane.tls.cert, plane.tls.key)
        self.outside = ssl.create_default_context(cafile=plane.tls.ca)
        super().__init__()

    def handle(self, sock):
        try:
            near = self.inside.wrap_socket(sock, server_side=True)
            far = self.outside.wrap_socket(socket.create_connection(("127.0.0.1", self.plane.port)),
                                           server_hostname="127.0.0.1")
        except OSError:
            return
        # One thread for both directions: a TLS connection must not be read and written at the same time.
        for each in (near, far):
            each.settimeout(0.0)
        try:
            self.pass_on(near, far)
        except OSError:
            pass
        near.close()
        far.close()

    def pass_on(self, near, far):
        late_s, waiting = 0, []
        while True:
            asked, answered = self.read(near), self.read(far)
            if b"" in (asked, answered):
                return
            if asked:
                late_s = self.late_s if b"watch=1" in asked else late_s
                self.write(far, asked)
            if answered:
                waiting.append((time.monotonic() + late_s, answered))
            while waiting and waiting[0][0] <= time.monotonic():
                self.write(near, waiting.pop(0)[1])
            if not (near.pending() or far.pending()):
                select.select([near, far], [], [], max(0, waiting[0][0] - time.monotonic()) if waiting else 10)

    @staticmethod
    def read(source):
        """None: there is nothing now; b"": the end."""
        try:
            return source.recv(65536)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            return None

    @staticmethod
    def write(target, data):
        target.settimeout(10)
        target.sendall(data)
        target.settimeout(0.0)


def handshake_failures(authority):
    """Two servers, by OpenSSL, whose alert to a client without a certificate is the same: handshake failure."""
    return (tls_server(authority.cert, authority.key, ca=authority.ca),
            # None of those that a client offers by itself.
            tls_server(ciphers="ADH-AES128-GCM-SHA256:@SECLEVEL=0"))
