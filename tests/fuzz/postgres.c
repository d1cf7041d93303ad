#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/source/fake-round.h"
#include "../unit/source/pg-answers.h"
#include "base/str.h"
#include "io/pg-explain.h"
#include "io/pg-inside.h"
#include "source/postgres.h"

extern const struct source_ops source_postgres;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Rows of an answer from bytes: column, length, value; a column of COLUMNS ends the row. */
static PGresult *answer_of(const uint8_t *data, size_t size)
{
	PGresult *result = answer_new();
	size_t i = 0;
	int row;

	answer_server(result, 3);
	answer_database(result, 5, "app");
	row = answer_row(result, ROW_LOCK);
	while (i + 2 <= size && PQntuples(result) < 200) {
		unsigned column = data[i] % (COLUMNS + 1);
		size_t len = data[i + 1] % 65;

		i += 2;
		if (column == COLUMNS) {
			row = answer_row(result, (enum pg_row_kind)(len % 5));
			continue;
		}
		if (len > size - i)
			len = size - i;
		answer_bytes(result, row, (enum pg_column)column, data + i, len);
		i += len;
	}
	return result;
}

static void fuzz_picture(const uint8_t *data, size_t size)
{
	static char database[] = "app";
	const struct key_name name = { NULL, "bigint", "7", "seven" };
	struct source_config config = { .ops = &source_postgres, .name = "orders" };
	struct postgres p = { .config = &config, .facts = { .database = database } };
	struct pg_named named;
	struct pg_moment moment = { 0 };
	struct round r;
	struct pg_rows *rows;
	PGresult *result;
	size_t cut;

	fake_round_init(&r);
	pg_named_make(&name, &named, NULL);
	p.named = &named;
	p.n_named = 1;
	/* twice: a whole picture, then what changed of it */
	for (cut = 0; cut < 2; cut++) {
		result = answer_of(data + (cut ? size / 2 : 0), size - (cut ? size / 2 : 0));
		rows = pg_rows_of(result);
		if (postgres_moment_read(rows, &moment))
			postgres_picture_tell(&p, &r, rows, &moment);
		pg_result_free(rows);
	}
	postgres_picture_forget(&p);
	fake_round_release(&r);
}

static void fuzz_words(const char *text)
{
	struct err err = { 0 };
	struct pg_key key;
	struct str out;
	size_t len;

	if (pg_key_read_path(text, &len, &key)) {
		struct pg_key again;

		str_init(&out, 100);
		pg_key_write(&out, key);
		if (!pg_key_read(out.s, &again) || !pg_key_equal(key, again))
			abort();
		str_release(&out);
	}
	pg_explain(text, text, text, &err);
	pg_explain_statement("57014", text, text, text, &err);
	pg_explain_settings(text, &err);
	pg_check_conninfo(text, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 1)
		return 0;
	if (data[0] & 1) {
		fuzz_picture(data + 1, size - 1);
		return 0;
	}
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	fuzz_words(text);
	free(text);
	return 0;
}
