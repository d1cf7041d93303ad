#include "config.h"

#include "source/act.h"

const char *act_suspend_hinders(const struct singleton *s, enum verb verb)
{
	int64_t suspended = singleton_int(s, DETAIL_SUSPENDED, -1);

	/* To step down is to be suspended, where runs come by a schedule. */
	if ((verb == VERB_SUSPEND || verb == VERB_STEP_DOWN) && suspended == 1)
		return "it is suspended already";
	return verb == VERB_RESUME && suspended == 0 ? "it is not suspended" : NULL;
}
