#ifndef MODEL_THRESHOLDS_H
#define MODEL_THRESHOLDS_H

#include <stdint.h>

/* What the judge measures against; the config's `thresholds:` sets them. One field for each row of
 * thresholds.def. */
struct thresholds {
#define THRESHOLD(field, name, value, help)       int64_t field;
#define THRESHOLD_COUNT(field, name, value, help) int64_t field;
#include "model/thresholds.def"
#undef THRESHOLD
#undef THRESHOLD_COUNT
};

static inline struct thresholds thresholds_default(void)
{
	struct thresholds t = {
#define THRESHOLD(field, name, value, help)       .field = (value),
#define THRESHOLD_COUNT(field, name, value, help) .field = (value),
#include "model/thresholds.def"
#undef THRESHOLD
#undef THRESHOLD_COUNT
	};
	return t;
}

#endif
