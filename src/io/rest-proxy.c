#include "config.h"

#include "io/rest-inside.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * Which proxy is used: proxy-url, else what programs in Go take from the environment (net/http's
 * ProxyFromEnvironment, golang.org/x/net/http/httpproxy).
 */

enum {
	WORD_MAX = 256
};

static const char *env_either(const char *upper, const char *lower)
{
	const char *value = getenv(upper);

	if (value && *value)
		return value;
	value = getenv(lower);
	return value && *value ? value : NULL;
}

/* An address in 16 bytes (IPv4 within IPv6), and its length; 0: the text is none. */
static int address_parse(const char *text, unsigned char bytes[16])
{
	char bare[WORD_MAX];
	size_t len = strlen(text);

	if (len > 2 && len < sizeof(bare) && text[0] == '[' && text[len - 1] == ']') {
		memcpy(bare, text + 1, len - 2);
		bare[len - 2] = '\0';
		text = bare;
	}
	if (inet_pton(AF_INET, text, bytes) == 1)
		return 4;
	return inet_pton(AF_INET6, text, bytes) == 1 ? 16 : 0;
}

static bool is_loopback(const char *host)
{
	unsigned char bytes[16];
	static const unsigned char one[16] = { [15] = 1 };

	switch (address_parse(host, bytes)) {
	case 4:
		return bytes[0] == 127;
	case 16:
		return memcmp(bytes, one, sizeof(one)) == 0;
	default:
		return strcasecmp(host, "localhost") == 0;
	}
}

static bool bits_equal(const unsigned char *a, const unsigned char *b, long bits)
{
	size_t whole = (size_t)bits / 8;
	int rest = (int)(bits % 8);

	if (memcmp(a, b, whole) != 0)
		return false;
	return !rest || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

/* "10.0.0.0/8" */
static bool network_matches(char *word, const char *host)
{
	unsigned char network[16], address[16];
	char *slash = strchr(word, '/'), *end;
	long bits;
	int len;

	if (!slash)
		return false;
	*slash = '\0';
	bits = strtol(slash + 1, &end, 10);
	len = address_parse(word, network);
	if (!len || *end || end == slash + 1 || bits < 0 || bits > 8 * len)
		return false;
	return address_parse(host, address) == len && bits_equal(network, address, bits);
}

/* "example.org" is that name and all below it, ".example.org" and "*.example.org" what is below. */
static bool name_matches(const char *word, const char *host)
{
	size_t len = strlen(word), host_len = strlen(host);

	if (strncmp(word, "*.", 2) == 0)
		word++, len--;
	if (word[0] == '.')
		return host_len > len && strcasecmp(host + host_len - len, word) == 0;
	if (strcasecmp(host, word) == 0)
		return true;
	return host_len > len && host[host_len - len - 1] == '.' &&
	       strcasecmp(host + host_len - len, word) == 0;
}

static bool word_matches(char *word, const char *host, const char *port)
{
	unsigned char bytes[16], address[16];
	char *colon;
	int len;

	if (strcmp(word, "*") == 0)
		return true;
	if (strchr(word, '/'))
		return network_matches(word, host);
	len = address_parse(word, bytes);
	colon = len ? NULL : strrchr(word, ':');
	if (colon) {
		if (strcmp(colon + 1, port) != 0)
			return false;
		*colon = '\0';
		len = address_parse(word, bytes);
	}
	if (len)
		return address_parse(host, address) == len &&
		       memcmp(bytes, address, (size_t)len) == 0;
	return name_matches(word, host);
}

static bool is_excluded(const char *list, const char *host, const char *port)
{
	while (list && *list) {
		size_t len = strcspn(list, ","), lead = strspn(list, " \t");
		char word[WORD_MAX];

		if (lead < len && len - lead < sizeof(word)) {
			memcpy(word, list + lead, len - lead);
			word[len - lead] = '\0';
			word[strcspn(word, " \t")] = '\0';
			if (word_matches(word, host, port))
				return true;
		}
		list += len + (list[len] == ',');
	}
	return false;
}

const char *rest_proxy_for(const char *proxy_url, bool tls, const char *host, const char *port)
{
	if (proxy_url)
		return proxy_url;
	if (is_loopback(host) || is_excluded(env_either("NO_PROXY", "no_proxy"), host, port))
		return NULL;
	return tls ? env_either("HTTPS_PROXY", "https_proxy")
		   : env_either("HTTP_PROXY", "http_proxy");
}
