#include "config.h"

#include "model/judge-rules.h"

const struct judge_rule judge_rules_etcd[] = {
	{ 0 },
};
