#ifndef TESTS_GOLDEN_COMPARE_H
#define TESTS_GOLDEN_COMPARE_H

struct str;

/*
 * Compares a screen with the file of that name under tests/golden/screens, and fails with both
 * where they differ. With BATON_UPDATE_GOLDEN set it writes the file instead.
 */
void golden_compare(const char *name, const struct str *made);

#endif
