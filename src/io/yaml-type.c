#include "config.h"

#include "io/yaml.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool type_is_word(const char *text, const char *const *words, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

/* What C calls base 0, and 0o and 0b; in 64 bits. */
static bool type_is_int(const char *text)
{
	const char *s = text + (*text == '-' || *text == '+');
	const char *digits = "0123456789";
	int base = 10;

	if (s[0] == '0' && s[1] && strchr("xXoObB", s[1])) {
		base = strchr("xX", s[1]) ? 16 : strchr("oO", s[1]) ? 8 : 2;
		s += 2;
	} else if (s[0] == '0') {
		base = 8;
	}
	if (base == 16)
		digits = "0123456789abcdefABCDEF";
	else if (base < 10)
		digits = base == 8 ? "01234567" : "01";
	if (!*s || s[strspn(s, digits)])
		return false;
	errno = 0;
	strtoull(s, NULL, base);
	return !errno;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool type_is_float(const char *s)
{
	size_t whole, part = 0;

	s += *s == '-' || *s == '+';
	whole = strspn(s, "0123456789");
	s += whole;
	if (*s == '.') {
		part = strspn(++s, "0123456789");
		s += part;
	}
	if (!whole && !part)
		return false;
	if (*s == 'e' || *s == 'E') {
		s++;
		s += *s == '-' || *s == '+';
		if (!*s)
			return false;
		s += strspn(s, "0123456789");
	}
	return !*s;
}

static bool type_is_number(const char *text)
{
	static const char *const words[] = { ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF",
		"+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF" };
	struct str plain;
	const char *s;
	bool is;

	if (type_is_word(text, words, ARRAY_LEN(words)))
		return true;
	if (!strchr("+-.0123456789", *text))
		return false;
	str_init(&plain, 1024);
	for (s = text; *s; s++)
		if (*s != '_')
			str_add_char(&plain, *s);
	is = !plain.full && (type_is_int(plain.s) || type_is_float(plain.s));
	str_release(&plain);
	return is;
}

enum yaml_type yaml_type_of(const struct yaml_node *node)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
	static const char *const bools[] = { "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE",
		"on", "On", "ON", "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off",
		"Off", "OFF" };

	if (node->kind == YAML_LIST)
		return YAML_TYPE_LIST;
	if (node->kind == YAML_MAP)
		return YAML_TYPE_MAP;
	if (node->quoted)
		return YAML_TYPE_TEXT;
	if (type_is_word(node->text, nulls, ARRAY_LEN(nulls)))
		return YAML_TYPE_NULL;
	if (type_is_word(node->text, bools, ARRAY_LEN(bools)))
		return YAML_TYPE_BOOL;
	return type_is_number(node->text) ? YAML_TYPE_NUMBER : YAML_TYPE_TEXT;
}
