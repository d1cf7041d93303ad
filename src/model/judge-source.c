#include "config.h"

#include "model/judge-rules.h"

void judge_source(
	const struct judge_source_input *in, struct verdict_draft *out, bool *ret_all_stale)
{
	(void)in;
	*ret_all_stale = false;
	judge_attention(out);
}

void judge_cross(const struct snapshot *const *snapshots, size_t n, size_t which,
	const struct thresholds *thresholds, int64_t now_us, struct verdict_draft *out)
{
	(void)snapshots;
	(void)n;
	(void)which;
	(void)thresholds;
	(void)now_us;
	(void)out;
}
