#include "config.h"

#include "tui/theme.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	THEME_FILE_MAX = 64 * 1024,
	THEME_FOLDERS = 3
};

static const struct {
	const char *name, *spec;
} styles[STYLE_COUNT] = {
#define STYLE(id, n, s, help) [STYLE_##id] = { n, s },
#include "tui/styles.def"
#undef STYLE
};

const char *style_name(enum style style)
{
	return styles[style].name;
}

int style_from_name(const char *name, size_t len)
{
	int i;

	for (i = 0; i < STYLE_COUNT; i++)
		if (strlen(styles[i].name) == len && memcmp(styles[i].name, name, len) == 0)
			return i;
	return -1;
}

/* The parent: the name without its last part that is a style; STYLE_TEXT is the root. */
static enum style style_parent(enum style style)
{
	const char *name = styles[style].name;
	size_t len = strlen(name);

	while (len > 0) {
		int parent;

		while (len > 0 && name[len - 1] != '.')
			len--;
		if (len == 0)
			break;
		parent = style_from_name(name, --len);
		if (parent >= 0)
			return (enum style)parent;
	}
	return STYLE_TEXT;
}

static const char *const color_names[] = { "black", "red", "green", "yellow", "blue", "magenta",
	"cyan", "white" };

/* One of the three readings of a colour; false when it is none. */
static bool color_part(const char *s, size_t len, struct color *color)
{
	size_t i, bright = len > 7 && memcmp(s, "bright-", 7) == 0 ? 7 : 0;
	char number[8], *end;
	long value;

	if (len == 7 && memcmp(s, "default", 7) == 0) {
		color->c16 = -1;
		return true;
	}
	for (i = 0; i < ARRAY_LEN(color_names); i++) {
		if (strlen(color_names[i]) != len - bright ||
			memcmp(color_names[i], s + bright, len - bright) != 0)
			continue;
		color->c16 = (int16_t)(i + (bright ? 8 : 0));
		return true;
	}
	if (!len || len >= sizeof(number))
		return false;
	memcpy(number, s, len);
	number[len] = '\0';
	if (number[0] == '#') {
		value = strtol(number + 1, &end, 16);
		color->rgb = (int32_t)value;
		return len == 7 && !*end && value >= 0;
	}
	value = strtol(number, &end, 10);
	color->c256 = (int16_t)value;
	return number[0] >= '0' && number[0] <= '9' && !*end && value <= 255;
}

static bool color_parse(const char *s, size_t len, struct color *ret)
{
	const char *end = s + len;

	*ret = (struct color){ COLOR_UNSAID, COLOR_UNSAID, COLOR_UNSAID };
	for (;;) {
		const char *slash = memchr(s, '/', (size_t)(end - s));
		const char *part = slash ? slash : end;

		if (!color_part(s, (size_t)(part - s), ret))
			return false;
		if (!slash)
			return true;
		s = slash + 1;
	}
}

static bool attr_parse(const char *s, size_t len, struct theme_entry *entry)
{
	static const struct {
		const char *word;
		unsigned attr;
	} attrs[] = { { "bold", LOOK_BOLD }, { "dim", LOOK_DIM }, { "reverse", LOOK_REVERSE },
		{ "underline", LOOK_UNDERLINE }, { "italic", LOOK_ITALIC }, { "plain", 0 } };
	size_t i;

	for (i = 0; i < ARRAY_LEN(attrs); i++) {
		if (strlen(attrs[i].word) != len || memcmp(attrs[i].word, s, len) != 0)
			continue;
		entry->attrs |= attrs[i].attr;
		entry->attrs_said = true;
		return true;
	}
	return false;
}

/* One word of a look: fg:, bg: or an attribute. */
static bool word_parse(const char *s, size_t len, struct theme_entry *entry)
{
	if (len > 3 && memcmp(s, "fg:", 3) == 0) {
		entry->fg_said = true;
		return color_parse(s + 3, len - 3, &entry->fg);
	}
	if (len > 3 && memcmp(s, "bg:", 3) == 0) {
		entry->bg_said = true;
		return color_parse(s + 3, len - 3, &entry->bg);
	}
	return attr_parse(s, len, entry);
}

/* Reads a look; returns NULL, or the word that is wrong with its length. */
static const char *look_parse(const char *s, size_t len, struct theme_entry *ret, size_t *ret_bad)
{
	const char *end = s + len;
	struct theme_entry entry = { 0 };

	while (s < end) {
		size_t n = 0;

		if (*s == ' ' || *s == '\t' || *s == '\r') {
			s++;
			continue;
		}
		while (s + n < end && s[n] != ' ' && s[n] != '\t' && s[n] != '\r')
			n++;
		if (!word_parse(s, n, &entry)) {
			*ret_bad = n;
			return s;
		}
		s += n;
	}
	*ret = entry;
	return NULL;
}

void theme_builtin(struct theme *theme)
{
	size_t bad;
	int i;

	memset(theme, 0, sizeof(*theme));
	snprintf(theme->name, sizeof(theme->name), "builtin");
	snprintf(theme->about, sizeof(theme->about), "the terminal's own colours");
	for (i = 0; i < STYLE_COUNT; i++)
		look_parse(styles[i].spec, strlen(styles[i].spec), &theme->entries[i], &bad);
}

static size_t trim(const char **s, size_t len)
{
	while (len && (**s == ' ' || **s == '\t'))
		(*s)++, len--;
	while (len && ((*s)[len - 1] == ' ' || (*s)[len - 1] == '\t' || (*s)[len - 1] == '\r'))
		len--;
	return len;
}

static int line_parse(struct theme *theme, const char *s, size_t len, int number, struct err *err)
{
	const char *equals, *value, *bad;
	size_t name_len, bad_len;
	int style;

	len = trim(&s, len);
	if (!len || *s == '#')
		return 0;
	equals = memchr(s, '=', len);
	if (!equals)
		return err_set(
			err, ERR_CONFIG, "line %d: no \"=\": write STYLE = fg:COLOUR bold", number);
	name_len = trim(&s, (size_t)(equals - s));
	value = equals + 1;
	len -= (size_t)(value - s) < len ? (size_t)(value - s) : len;
	len = trim(&value, len);
	if (name_len == 5 && memcmp(s, "about", 5) == 0) {
		snprintf(theme->about, sizeof(theme->about), "%.*s", (int)len, value);
		return 0;
	}
	style = style_from_name(s, name_len);
	if (style < 0)
		return 0;
	bad = look_parse(value, len, &theme->entries[style], &bad_len);
	if (!bad)
		return 0;
	return err_set(err, ERR_CONFIG,
		"line %d: \"%.*s\" is neither fg:COLOUR, bg:COLOUR nor bold, dim, reverse, "
		"underline, "
		"italic or plain",
		number, (int)(bad_len > 40 ? 40 : bad_len), bad);
}

int theme_parse(
	struct theme *theme, const char *name, const char *text, size_t len, struct err *err)
{
	struct theme made = { 0 };
	const char *end = text + len;
	int number = 1, rc;

	snprintf(made.name, sizeof(made.name), "%s", name);
	for (; text < end; number++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (!stop)
			stop = end;
		rc = line_parse(&made, text, (size_t)(stop - text), number, err);
		if (rc < 0)
			return rc;
		text = stop + 1;
	}
	*theme = made;
	return 0;
}

/* The folders where themes are, the first that has one wins. Returns how many; each is the
 * caller's. */
static size_t theme_folders(char *folders[THEME_FOLDERS])
{
	const char *env = getenv("BATON_THEMES");
	char *config;
	size_t n = 0;

	if (env && *env)
		folders[n++] = xstrdup(env);
	if (fs_config_dir(&config, NULL) == 0) {
		size_t size = strlen(config) + sizeof("/themes");

		folders[n] = xmalloc(size);
		snprintf(folders[n++], size, "%s/themes", config);
		free(config);
	}
	folders[n++] = xstrdup(BATON_DATADIR "/themes");
	return n;
}

static int theme_read(struct theme *theme, const char *folder, const char *name, struct err *err)
{
	struct str path, text;
	int rc;

	str_init(&path, 4096);
	str_init(&text, THEME_FILE_MAX);
	str_addf(&path, "%s/%s.theme", folder, name);
	rc = fs_read(path.s, &text, err);
	if (rc == 0) {
		rc = theme_parse(theme, name, text.s, text.len, err);
		if (rc < 0)
			err_prefix(err, "%s", path.s);
	}
	str_release(&path);
	str_release(&text);
	return rc;
}

int theme_load(struct theme *theme, const char *name, struct err *err)
{
	char *folders[THEME_FOLDERS];
	struct str names;
	struct err trouble = { 0 };
	size_t n, i;
	int rc = ERR_NOTFOUND;

	if (strcmp(name, "builtin") == 0) {
		theme_builtin(theme);
		return 0;
	}
	if (!*name || strchr(name, '/') || strlen(name) >= sizeof(theme->name))
		return err_set(err, ERR_CONFIG, "a theme's name is a word without a slash");
	n = theme_folders(folders);
	for (i = 0; i < n; i++) {
		if (rc == ERR_NOTFOUND) {
			rc = theme_read(theme, folders[i], name, &trouble);
			if (rc == ERR_IO) /* no such file */
				rc = ERR_NOTFOUND;
		}
		free(folders[i]);
	}
	if (rc == 0)
		return 0;
	if (rc != ERR_NOTFOUND)
		return err_set(err, rc, "theme %s: %s", name, trouble.text);
	str_init(&names, 4096);
	theme_names(&names);
	for (i = 0; i < names.len; i++)
		if (names.s[i] == '\n')
			names.s[i] = ' ';
	err_set(err, ERR_CONFIG, "no theme \"%s\"; there are: %s", name, names.s);
	str_release(&names);
	return ERR_CONFIG;
}

static void theme_names_in(struct map *seen, const char *folder, struct str *out)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		char *name;

		if (len <= 6 || !str_ends(entry->d_name, ".theme"))
			continue;
		name = xstrndup(entry->d_name, len - 6);
		if (map_get(seen, name, len - 6)) {
			free(name);
			continue;
		}
		map_put(seen, name, len - 6, name);
		str_addf(out, "%s\n", name);
	}
	if (dir)
		closedir(dir);
}

void theme_names(struct str *out)
{
	char *folders[THEME_FOLDERS];
	struct map_entry *e;
	struct map seen;
	size_t n = theme_folders(folders), i, pos = 0;

	map_init(&seen);
	str_add(out, "builtin\n");
	for (i = 0; i < n; i++) {
		theme_names_in(&seen, folders[i], out);
		free(folders[i]);
	}
	while ((e = map_next(&seen, &pos)))
		free(e->value);
	map_release(&seen);
}

static const uint8_t cube[6] = { 0, 95, 135, 175, 215, 255 };
static const uint32_t ansi_rgb[16] = { 0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
	0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff,
	0xffffff };

static int distance(uint32_t a, uint32_t b)
{
	int r = (int)(a >> 16 & 255) - (int)(b >> 16 & 255);
	int g = (int)(a >> 8 & 255) - (int)(b >> 8 & 255);
	int bl = (int)(a & 255) - (int)(b & 255);

	return r * r + g * g + bl * bl;
}

/* xterm's palette: 16 of the terminal, a cube of 6x6x6, 24 greys. */
static uint32_t rgb_of_256(int c)
{
	if (c < 16)
		return ansi_rgb[c];
	if (c < 232) {
		c -= 16;
		return (uint32_t)cube[c / 36] << 16 | (uint32_t)cube[c / 6 % 6] << 8 | cube[c % 6];
	}
	return (uint32_t)(8 + (c - 232) * 10) * 0x010101;
}

static int nearest(uint32_t rgb, int first, int end)
{
	int i, best = first;

	for (i = first; i < end; i++)
		if (distance(rgb, rgb_of_256(i)) < distance(rgb, rgb_of_256(best)))
			best = i;
	return best;
}

/* A colour in a number of colours; a better one than there are is brought down to the nearest. */
static int32_t color_resolve(const struct color *c, int colors)
{
	bool said_16 = c->c16 != COLOR_UNSAID;
	int32_t c16;

	if (colors > 256 && c->rgb != COLOR_UNSAID)
		return c->rgb;
	if (colors > 256 && c->c256 != COLOR_UNSAID)
		return (int32_t)rgb_of_256(c->c256);
	if (colors > 256 && said_16)
		return c->c16 < 0 ? -1 : (int32_t)ansi_rgb[c->c16];
	if (colors == 256 && c->c256 != COLOR_UNSAID)
		return c->c256;
	if (colors == 256 && c->rgb != COLOR_UNSAID)
		return nearest((uint32_t)c->rgb, 16, 256);
	if (said_16)
		c16 = c->c16;
	else
		c16 = nearest(
			c->c256 != COLOR_UNSAID ? rgb_of_256(c->c256) : (uint32_t)c->rgb, 0, 16);
	return colors < 16 && c16 >= 8 ? c16 - 8 : c16;
}

/* What a style says, with what its parents say where it is silent. */
static struct theme_entry theme_inherit(const struct theme *theme, enum style style)
{
	struct theme_entry made = theme->entries[style];

	while (style != STYLE_TEXT) {
		const struct theme_entry *from;

		style = style_parent(style);
		from = &theme->entries[style];
		if (!made.fg_said && from->fg_said) {
			made.fg = from->fg;
			made.fg_said = true;
		}
		if (!made.bg_said && from->bg_said) {
			made.bg = from->bg;
			made.bg_said = true;
		}
		if (!made.attrs_said && from->attrs_said) {
			made.attrs = from->attrs;
			made.attrs_said = true;
		}
	}
	return made;
}

struct look theme_look(const struct theme *theme, enum style style, enum style over, int colors)
{
	struct theme_entry e = theme_inherit(theme, style);
	struct look look = { -1, -1, e.attrs };

	if (over != STYLE_TEXT) {
		const struct theme_entry *o = &theme->entries[over];

		if (o->fg_said)
			e.fg = o->fg, e.fg_said = true;
		if (o->bg_said)
			e.bg = o->bg, e.bg_said = true;
		look.attrs |= o->attrs;
	}
	if (colors >= 8 && e.fg_said)
		look.fg = color_resolve(&e.fg, colors);
	if (colors >= 8 && e.bg_said)
		look.bg = color_resolve(&e.bg, colors);
	/* Eight colours: bright black is black there, which nobody could read on black. */
	if (colors == 8 && e.fg_said && e.fg.c16 == 8) {
		look.fg = -1;
		look.attrs |= LOOK_DIM;
	} else if (colors == 8 && e.fg_said && e.fg.c16 > 8) {
		look.attrs |= LOOK_BOLD;
	}
	return look;
}
