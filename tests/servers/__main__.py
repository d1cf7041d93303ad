"""
Builds what is built from Go modules, where it is not built yet: python3 -m servers [NAME...] (all by default). Progress is on
standard error. Exit 77: it can't be built here, and why.
"""

import sys
import unittest

from . import etcd, kubernetes

MODULES = {module.name: module for module in (etcd.MODULE, etcd.CAMPAIGN, kubernetes.ELECT, kubernetes.MODULE)}


def main(names):
    for name in names or MODULES:
        try:
            print(kubernetes.prepare() if name == "kubernetes" else MODULES[name].build(), flush=True)
        except unittest.SkipTest as reason:
            print(reason)
            return 77
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
