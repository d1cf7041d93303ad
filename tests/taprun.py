"""
Runs one file of unittest tests and writes TAP (testanything.org), one line a test, so that tests/run reads Python tests and
cmocka's alike. A failure's text follows its line, each line of it behind "# ".
"""

import importlib.util
import os
import sys
import time
import unittest


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0
        self.started = 0.0
        self.bad_subtest = False
        self.good_subtests = self.skipped_subtests = 0

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()
        self.bad_subtest = False
        self.good_subtests = self.skipped_subtests = 0

    def stopTest(self, test):
        """One subtest was skipped, another passed: both are told."""
        if self.skipped_subtests and self.good_subtests and not self.bad_subtest:
            self._line(True, test)
        super().stopTest(test)

    def _line(self, good, test, more="", text=""):
        self.number += 1
        test = getattr(test, "test_case", test)  # of a subtest
        name = getattr(test, "_testMethodName", None)
        name = f"{type(test).__name__}.{name}" if name else str(test)
        spent = time.monotonic() - self.started if self.started else 0.0
        print(f"{'ok' if good else 'not ok'} {self.number} - {name} ({spent:.1f} s){more}")
        for line in text.splitlines():
            print("# " + line)
        sys.stdout.flush()

    def addSuccess(self, test):
        super().addSuccess(test)
        if not self.bad_subtest:
            self._line(True, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.skipped_subtests += hasattr(test, "test_case")
        self._line(True, test, f" # SKIP {reason}")

    def addError(self, test, err):
        super().addError(test, err)
        self._line(False, test, text=self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._line(False, test, text=self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is None:
            self.good_subtests += 1
        else:
            self.bad_subtest = True
            self._line(False, test, f" {subtest._subDescription()}",
                       text=self._exc_info_to_string(err, test))

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._line(True, test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._line(False, test, text="it was expected to fail, and did not")


def main():
    path = sys.argv[1]
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:0] = [here, os.path.dirname(os.path.abspath(path))]
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = TapResult()
    suite.run(result)
    print(f"1..{result.number}", flush=True)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
