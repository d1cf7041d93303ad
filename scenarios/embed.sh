#!/bin/sh
# Prints a C file that holds the given scenarios: sh scenarios/embed.sh FILE...
set -eu
echo '#include "control/scenario.h"'
i=0
for file in "$@"; do
	printf 'static const unsigned char text_%d[] = {' "$i"
	od -An -v -tu1 "$file" | sed 's/  */,/g; s/^,//; s/$/,/'
	echo '0 };'
	i=$((i + 1))
done
echo 'const struct scenario_text scenario_texts[] = {'
i=0
for file in "$@"; do
	name=${file##*/}
	printf '{ "%s", text_%d, sizeof(text_%d) - 1 },\n' "${name%.yaml}" "$i" "$i"
	i=$((i + 1))
done
echo '{ 0 } };'
