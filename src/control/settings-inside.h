#ifndef CONTROL_SETTINGS_INSIDE_H
#define CONTROL_SETTINGS_INSIDE_H

struct settings;

/* Private to control: settings that are made without a config file. Empty, with the usual
 * thresholds. */
struct settings *settings_new(void);
/* Memory that lives as long as they do. */
void *settings_own(struct settings *s, void *p);

#endif
