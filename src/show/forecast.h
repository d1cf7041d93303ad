#ifndef SHOW_FORECAST_H
#define SHOW_FORECAST_H

#include "model/forecast.h"
#include "show/show.h"

struct json_writer;

/*
 * A forecast as JSON: the fields of "forecast" in baton-1.schema.json, into an object that is open.
 */
void show_forecast_json(struct json_writer *j, const struct forecast *f);
/* The same as text: a label and its sentence on each line, wrapped where it is a terminal. */
void show_forecast_text(struct out *out, const struct show_style *style, const struct forecast *f);
/* {identity, key, token}, as a value. */
void show_target_json(struct json_writer *j, const struct forecast *f);

#endif
