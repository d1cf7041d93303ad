#include "config.h"

#include "control/lesson.h"
#include "control/lesson-inside.h"

/* What a scenario may write under `lesson:`. */

#define MEASURE_FIELDS                                                                            \
	{ .name = "measure",                                                                      \
		.type = OPTION_WORD,                                                              \
		.words = LESSON_MEASURE_WORDS,                                                    \
		.help = "What is counted (the list below)." },                                    \
		{ .name = "of",                                                                   \
			.type = OPTION_LIST,                                                      \
			.help = "Of what: names of duties, resources or counters, kinds of "      \
				"happenings, verbs; of several it is the sum." },                 \
	{                                                                                         \
		.name = "on", .type = OPTION_TEXT,                                                \
		.help = "acts and happened: what it is about: an id or a name, or its beginning " \
			"and a star. By default any."                                             \
	}

const struct option_def lesson_goal_options[] = {
	{ .name = "duty", .type = OPTION_TEXT, .help = "A duty, with `workers` or `by`." },
	{ .name = "workers",
		.type = OPTION_INT,
		.help = "Exactly so many do the work of the duty." },
	{ .name = "by", .type = OPTION_TEXT, .help = "This process does the work of the duty." },
	{ .name = "process", .type = OPTION_TEXT, .help = "A process, with `state`." },
	{ .name = "state",
		.type = OPTION_WORD,
		.words = "lives|running|paused|ended|apart",
		.help = "What the process is: lives is running or paused, ended is stopped or "
			"crashed, apart is ended or on a machine that is cut off from all "
			"others." },
	MEASURE_FIELDS,
	{ .name = "least", .type = OPTION_INT, .help = "The measure is at least this." },
	{ .name = "most", .type = OPTION_INT, .help = "The measure is at most this." },
	{ .name = NULL },
};

const struct option_def lesson_restored_options[] = {
	{ .name = "for",
		.type = OPTION_DURATION,
		.fallback = "20s",
		.help = "So long all of it must hold; then the lesson is over." },
	{ .name = "not_before",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "Since the trainee sat down: before that it does not count as restored. "
			"For lessons in which nothing is broken at first, or in which waiting is "
			"right." },
	{ .name = "waiting",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "Waiting is right: who changes nothing earns the points for time, too." },
	{ .name = "when",
		.type = OPTION_MAPS,
		.fields = lesson_goal_options,
		.required = true,
		.help = "What must hold, all of it: each is a duty, a process or a measure." },
	{ .name = NULL },
};

const struct option_def lesson_cause_options[] = {
	{ .name = "id",
		.type = OPTION_TEXT,
		.required = true,
		.help = "A short word of small letters, digits and minuses." },
	{ .name = "text",
		.type = OPTION_TEXT,
		.required = true,
		.help = "The cause, as the trainee reads it: one sentence." },
	{ .name = "right",
		.type = OPTION_BOOL,
		.fallback = "false",
		.help = "Whether it is a cause. One or several are." },
	{ .name = "why",
		.type = OPTION_TEXT,
		.help = "For the debrief: what shows that it is, or is not." },
	{ .name = NULL },
};

const struct option_def lesson_hint_options[] = {
	{ .name = "text", .type = OPTION_TEXT, .required = true, .help = "The hint." },
	{ .name = "costs",
		.type = OPTION_INT,
		.fallback = "5",
		.help = "Points that asking for it costs." },
	{ .name = NULL },
};

const struct option_def lesson_measure_options[] = {
	MEASURE_FIELDS,
	{ .name = "text",
		.type = OPTION_TEXT,
		.required = true,
		.help = "What it is, as the score says it: \"two settle at once\"." },
	{ .name = "per",
		.type = OPTION_TEXT,
		.help = "One unit: a duration for times (by default 1s), else a number (1)." },
	{ .name = "costs",
		.type = OPTION_INT,
		.fallback = "0",
		.help = "Points of the safety for each unit." },
	{ .name = "free",
		.type = OPTION_TEXT,
		.help = "So much of it costs nothing, written as `per` is." },
	{ .name = "most",
		.type = OPTION_INT,
		.fallback = "40",
		.help = "It costs at most so many points." },
	{ .name = NULL },
};

const struct option_def lesson_reason_options[] = {
	{ .name = "what",
		.type = OPTION_LIST,
		.help = "Words of which one must stand in a reason or a note, for it to say what "
			"is done." },
	{ .name = "why",
		.type = OPTION_LIST,
		.help = "Words of which one must stand there, for it to say why." },
	{ .name = NULL },
};

const struct option_def lesson_step_options[] = {
	{ .name = "at",
		.type = OPTION_DURATION,
		.required = true,
		.help = "When, in time of the world, as faults are." },
	{ .name = "diagnose", .type = OPTION_LIST, .help = "Picks these causes, by their ids." },
	{ .name = "act",
		.type = OPTION_TEXT,
		.help = "Carries out this verb on the row `on`, through the gate." },
	{ .name = "on", .type = OPTION_TEXT, .help = "The id of the row." },
	{ .name = "expect",
		.type = OPTION_TEXT,
		.help = "Whom the act is meant for: a holder or a key. By default the only "
			"holder." },
	{ .name = "reason", .type = OPTION_TEXT, .help = "The reason that is recorded." },
	{ .name = "outcome",
		.type = OPTION_WORD,
		.words = "done|refused|changed|unknown|partial",
		.fallback = "done",
		.help = "How the act must end, else the way is wrong." },
	{ .name = "hint", .type = OPTION_INT, .help = "Asks for this hint, from 1." },
	{ .name = "note", .type = OPTION_TEXT, .help = "Tells the others this, as `:note` does." },
	{ .name = "sees",
		.type = OPTION_TEXT,
		.help = "Checks that the board shows the row of this id, with `state`, `finding` "
			"or `holder`." },
	{ .name = "state", .type = OPTION_TEXT, .help = "sees: the row's state." },
	{ .name = "finding", .type = OPTION_TEXT, .help = "sees: one of the row's findings." },
	{ .name = "holder", .type = OPTION_TEXT, .help = "sees: one of the row's holders." },
	{ .name = "finish",
		.type = OPTION_BOOL,
		.help = "true: says that nothing more is to be done." },
	{ .name = NULL },
};

const struct option_def lesson_way_options[] = {
	{ .name = "name",
		.type = OPTION_TEXT,
		.required = true,
		.help = "A short word, for --script." },
	{ .name = "kind",
		.type = OPTION_WORD,
		.words = "right|wrong|nothing",
		.required = true,
		.help = "Whether it is a right way, a tempting wrong one, or doing nothing." },
	{ .name = "text",
		.type = OPTION_TEXT,
		.required = true,
		.help = "What it does, and what comes of it, in one sentence." },
	{ .name = "least",
		.type = OPTION_INT,
		.help = "The score is at least this: by default 90 of a right way, else 0." },
	{ .name = "most",
		.type = OPTION_INT,
		.help = "The score is at most this: by default 40 of a wrong way, else 100. Doing "
			"nothing must say both." },
	{ .name = "steps",
		.type = OPTION_MAPS,
		.fields = lesson_step_options,
		.help = "In order." },
	{ .name = NULL },
};

const struct option_def lesson_verdict_options[] = {
	{ .name = "act", .type = OPTION_TEXT, .required = true, .help = "A verb; any: every one." },
	{ .name = "on",
		.type = OPTION_TEXT,
		.help = "The id, or its beginning and a star. By default any." },
	{ .name = "after",
		.type = OPTION_TEXT,
		.help = "\"VERB ID\": only if that was done before it." },
	{ .name = "unless",
		.type = OPTION_TEXT,
		.help = "\"VERB ID\": only if that was not done before it." },
	{ .name = "whom",
		.type = OPTION_WORD,
		.words = "holder|waiter",
		.help = "Only if it was about a holder, or about one that waited. By default "
			"either." },
	{ .name = "until",
		.type = OPTION_DURATION,
		.help = "Only if it was done until then, in time of the world. By default at any "
			"time." },
	{ .name = "was",
		.type = OPTION_WORD,
		.words = "helped|harmed|needless",
		.required = true,
		.help = "What it did." },
	{ .name = "text", .type = OPTION_TEXT, .required = true, .help = "Why, in a sentence." },
	{ .name = NULL },
};

const struct option_def lesson_reading_options[] = {
	{ .name = "text", .type = OPTION_TEXT, .required = true, .help = "What it is." },
	{ .name = "at", .type = OPTION_TEXT, .help = "Its public address." },
	{ .name = NULL },
};

const struct option_def lesson_debrief_options[] = {
	{ .name = "principle",
		.type = OPTION_TEXT,
		.required = true,
		.help = "What the lesson teaches, in two sentences." },
	{ .name = "sign",
		.type = OPTION_TEXT,
		.required = true,
		.help = "By what one knows it in real life." },
	{ .name = "acts",
		.type = OPTION_MAPS,
		.fields = lesson_verdict_options,
		.help = "What is said of each act of the trainee; the first that fits." },
	{ .name = "read",
		.type = OPTION_MAPS,
		.fields = lesson_reading_options,
		.help = "Where to read on." },
	{ .name = NULL },
};

const struct option_def lesson_compare_options[] = {
	{ .name = "row", .type = OPTION_TEXT, .required = true, .help = "The row's title." },
	{ .name = "column", .type = OPTION_TEXT, .required = true, .help = "The column's title." },
	MEASURE_FIELDS,
	{ .name = NULL },
};

const struct option_def lesson_options[] = {
	{ .name = "number",
		.type = OPTION_TEXT,
		.required = true,
		.help = "S01 to S12; a study has one of its own, such as O01." },
	{ .name = "kind",
		.type = OPTION_WORD,
		.words = "lesson|study",
		.fallback = "lesson",
		.help = "A study stands below the lessons: it compares, and need not have a right "
			"way." },
	{ .name = "line",
		.type = OPTION_TEXT,
		.required = true,
		.help = "What it is about, for the list: one line." },
	{ .name = "story",
		.type = OPTION_TEXT,
		.required = true,
		.help = "What happened before the trainee sits down." },
	{ .name = "see",
		.type = OPTION_TEXT,
		.required = true,
		.help = "What the trainee sees first, and what else is known." },
	{ .name = "task", .type = OPTION_TEXT, .required = true, .help = "What is to be done." },
	{ .name = "question",
		.type = OPTION_TEXT,
		.help = "A question of senior practice that playing it answers." },
	{ .name = "answer", .type = OPTION_TEXT, .help = "The answer, for the debrief." },
	{ .name = "begins",
		.type = OPTION_DURATION,
		.fallback = "0s",
		.help = "When the trainee sits down, in time of the world: what comes before has "
			"happened already." },
	{ .name = "counted",
		.type = OPTION_DURATION,
		.help = "From when on the measures count, in time of the world. By default from "
			"when the trainee sits down." },
	{ .name = "par",
		.type = OPTION_DURATION,
		.required = true,
		.help = "Restored within this time (since the trainee sat down) earns all points "
			"for time: what a safe way takes." },
	{ .name = "limit",
		.type = OPTION_DURATION,
		.required = true,
		.help = "After this time it is over." },
	{ .name = "restored",
		.type = OPTION_MAP,
		.fields = lesson_restored_options,
		.required = true,
		.help = "When all is well again." },
	{ .name = "asks",
		.type = OPTION_TEXT,
		.fallback = "Which is the cause?",
		.help = "The question that the causes answer." },
	{ .name = "causes",
		.type = OPTION_MAPS,
		.fields = lesson_cause_options,
		.required = true,
		.help = "The causes to pick from; they are offered in an order that the seed "
			"decides." },
	{ .name = "hints",
		.type = OPTION_MAPS,
		.fields = lesson_hint_options,
		.help = "What the trainee may ask for, in order." },
	{ .name = "measures",
		.type = OPTION_MAPS,
		.fields = lesson_measure_options,
		.help = "What harms, and what each unit of it costs of the 40 points for safety." },
	{ .name = "spare_doubles",
		.type = OPTION_INT,
		.fallback = "0",
		.help = "So many side effects done twice on unfenced resources could not be "
			"helped: only more of them leave at most 30 points in all." },
	{ .name = "reason",
		.type = OPTION_MAP,
		.fields = lesson_reason_options,
		.help = "What a good reason says. Without it any three words do." },
	{ .name = "ways",
		.type = OPTION_MAPS,
		.fields = lesson_way_options,
		.required = true,
		.help = "Ways through it, each a script with the score that it must give." },
	{ .name = "watch",
		.type = OPTION_LIST,
		.help = "What the debrief's timeline draws: names of duties, and of locks or "
			"leases "
			"as the true story calls them. By default all duties." },
	{ .name = "debrief",
		.type = OPTION_MAP,
		.fields = lesson_debrief_options,
		.required = true,
		.help = "What is said afterwards." },
	{ .name = "compare",
		.type = OPTION_MAPS,
		.fields = lesson_compare_options,
		.help = "Cells of a table that the debrief shows: each a measure, in a row and a "
			"column." },
	{ .name = NULL },
};
