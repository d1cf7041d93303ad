package main

import (
	"fmt"
	"strings"
)

// Schedules written down one by one: every rule of the language and every way to break it.
var written = []string{
	// plain
	"* * * * *", "0 0 * * *", "30 2 * * *", "30 1 * * *", "0 2 * * *", "0 3 * * *", "15 0 * * *", "59 23 * * *",
	"0 * * * *", "30 * * * *", "5 * * * *", "*/5 * * * *", "*/15 * * * *", "*/7 * * * *", "0 */2 * * *", "0 */5 * * *",
	"0 0 1 * *", "0 0 31 * *", "0 0 29 2 *", "0 0 30 2 *", "59 23 31 2 *", "0 0 31 4,6,9,11 *", "0 12 1 1 *",
	"0 0 1 10 *", "0 0 15 10 *", "0 0 30 12 *", "0 0 31 12 *", "0 0 21 8 *", "* * 30 12 *", "0 5 * 10 *", "0 0 1 1-12 *",
	"0 0 * * 0", "0 0 * * 6", "0 0 * * 1-5", "0 9 * * mon-fri", "0 9 * * SUN", "0 9 * jan,JUL *", "0 9 * Jan-mar Tue",
	// day of month and day of week
	"0 0 13 * 5", "0 0 13 * *", "0 0 * * 5", "0 0 ? * 5", "0 0 13 * ?", "0 0 */1 * 5", "0 0 */2 * 5", "0 0 13 * */1",
	"0 0 13 * */2", "0 0 1-31 * 5", "0 0 *,13 * 5", "0 0 13 * *,5", "0 0 ?/2 * 5", "0 0 13 * ?/1", "0 0 , * 5", "0 0 13 * ,",
	// ranges and steps
	"0-59 * * * *", "0-59/1 * * * *", "10-20/3 * * * *", "5/15 * * * *", "5/1 * * * *", "59/59 * * * *", "0/0 * * * *",
	"*/60 * * * *", "*/59 * * * *", "*/9223372036854775807 * * * *", "*/9223372036854775808 * * * *", "5-5 * * * *",
	"20-10 * * * *", "1-2-3 * * * *", "1/2/3 * * * *", "*/2/3 * * * *", "*/0 * * * *", "*/-1 * * * *", "*/-0 * * * *",
	"*/+2 * * * *", "+5 * * * *", "+5-+9/+2 * * * *", "-5 * * * *", "--5 * * * *", "5- * * * *", "-5-9 * * * *", "005 * * * *",
	"*-5 * * * *", "*-x * * * *", "?-x-y * * * *", "*-5/2 * * * *", "?-7/1 * * * *", "** * * * *", "*5 * * * *", "5* * * * *",
	"*/ * * * *", "/5 * * * *", "/ * * * *", "- * * * *", "*/x * * * *", "*/1.5 * * * *", "1.5 * * * *", "0x5 * * * *", "1_0 * * * *",
	"1,2,3 * * * *", "1,,3 * * * *", ",1 * * * *", "1, * * * *", ", * * * *", ",,, * * * *", "* , * * *", "* * * , *",
	"1,60 * * * *", "1,-1 * * * *", "1;2 * * * *", "1,2-4,*/30 * * * *",
	// bounds
	"60 * * * *", "* 24 * * *", "* 23 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *", "* * * * 7", "* * * * 8",
	"0 0 * * 0-7", "0 0 * * 5-7", "0 0 * * 0-6", "99999999999999999999 * * * *", "9223372036854775807 * * * *", "0-60 * * * *",
	// names
	"jan * * * *", "0 0 jan * *", "0 0 * january *", "0 0 * ja *", "0 0 * * sunday", "0 0 * * su", "0 0 * * sun-sat", "0 0 * * sat-sun",
	"0 0 * * fri-sun", "0 0 * JAN-Dec/3 *", "0 0 * jan/mar *", "0 0 * jan/3 *", "0 0 * * mon/2", "0 0 * * FR\u0130", "0 0 * * fr\u0131",
	"0 0 * * \u017fun", "0 0 * mon *", "0 0 * * jan", "0 0 * jan-5 *", "0 0 * 3-may *", "0 0 L * *", "0 0 15W * *", "0 0 * * 5L", "0 0 * * 5#3",
	// number of fields, white space
	"", " ", "*", "* *", "* * *", "* * * *", "* * * * * *", "* * * * * * *", "  0   5 *  * *  ", "\t0\t5\t*\t*\t*", "0\n5\r*\v*\f*",
	"0\u00a05\u00a0*\u00a0*\u00a0*", "0\u20035\u2028*\u3000*\u1680*", "0\u200b5 * * * *", "0\u00855 * * *", "\xff * * * *", "0 0 * * *\xff", "0 0\xc2 * * *",
	"0 0 * * *\n", "\ufeff0 0 * * *",
	// words
	"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@reboot", "@", "@Daily", "@DAILY", "@daily ", " @daily",
	"@daily * * * *", "@minutely", "@every", "@every ", "@every  1h",
	// @every
	"@every 1s", "@every 1m", "@every 1h", "@every 90m", "@every 1h30m", "@every 1.5h", "@every 1.5s", "@every 2.999s", "@every .5h", "@every 5.h",
	"@every 1h1h", "@every 1ns", "@every 0", "@every +0", "@every -0", "@every 0s", "@every -1h", "@every +1h", "@every 999ms", "@every 1001ms",
	"@every 61us", "@every 3000000us", "@every 3000000\u00b5s", "@every 3000000\u03bcs", "@every 3000000000ns", "@every 1d", "@every 1w", "@every h",
	"@every 1", "@every 1h ", "@every 1 h", "@every 1h 30m", "@every .s", "@every -.s", "@every 1.h.5m", "@every 1H", "@every 1.1.1h", "@every --1h",
	"@every 2562047h47m16.854775807s", "@every 2562047h47m16.854775808s", "@every -2562047h47m16.854775808s", "@every 9223372036854775807ns",
	"@every 9223372036854775808ns", "@every 9223372036854775808ns9223372036854775808ns", "@every 9223372036854775809ns", "@every 3000000h",
	"@every 0.000000000000000000000000001h", "@every 1.00000000000000000000000000000000001h", "@every 0.333333333333333333333h", "@every 9999999999999999999999s",
	"@every 0.1000000000000000055511151231257827021181583404541015625h", "@every 87600h", "@every 86399.9999999999s", "@every 1h-30m", "@every 1e3s", "@every \xff1s",
	// zones in front
	"TZ=UTC * * * * *", "CRON_TZ=UTC 0 5 * * *", "TZ=Europe/Berlin 30 2 * * *", "CRON_TZ=America/New_York 30 2 * * *", "TZ=Australia/Lord_Howe */15 2 * * *",
	"TZ=Pacific/Apia 0 12 * * *", "TZ= 0 5 * * *", "CRON_TZ= 0 5 * * *", "TZ=Local 0 5 * * *", "CRON_TZ=Local @daily", "TZ=local 0 5 * * *", "TZ=utc 0 5 * * *",
	"TZ=UTC", "TZ=", "CRON_TZ=", "CRON_TZ=UTC", "TZ=UTC ", "TZ=UTC  ", "TZ=Nowhere/Land 0 5 * * *", "TZ=../../etc/passwd 0 5 * * *", "TZ=/etc/localtime 0 5 * * *",
	"TZ=\\Europe 0 5 * * *", "TZ=Europe 0 5 * * *", "TZ=Europe/Berlin/ 0 5 * * *", "TZ=Europe//Berlin 0 5 * * *", "TZ=./Europe/Berlin 0 5 * * *", "TZ=Europe/./Berlin 0 5 * * *",
	"TZ=Europe/Ber\tlin 0 5 * * *", "TZ=UTC\t0 5 * * *", "TZ=UTC \t0 5 * * * \n", "TZ=UTC @daily", "TZ=Europe/Berlin @daily", "TZ=Asia/Tehran   @hourly  ", "TZ=UTC @every 1h",
	"TZ=Europe/Berlin @every 1h ", "TZ=UTC @nope", " TZ=UTC 0 5 * * *", "tz=UTC 0 5 * * *", "Cron_TZ=UTC 0 5 * * *", "TZ=UTC TZ=UTC 0 5 * * *", "CRON_TZ=TZ=UTC 0 5 * * *",
	"TZ=UTC=UTC 0 5 * * *", "TZ:UTC 0 5 * * *", "TZ=EST5EDT4,M3.2.0,M11.1.0 0 5 * * *", "TZ=\u00a0 0 5 * * *", "TZ=UTC * * * *", "TZ=UTC 61 * * * *",
}

type bounds struct {
	min, max int
	names    []string
}

var fieldBounds = []bounds{
	{0, 59, nil},
	{0, 23, nil},
	{1, 31, nil},
	{1, 12, strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{0, 6, strings.Fields("sun mon tue wed thu fri sat")},
}

func (b bounds) value(r *random) string {
	n := b.min + r.pick(b.max-b.min+1)
	if b.names != nil && r.pick(3) == 0 {
		name := b.names[n-b.min]
		if r.pick(2) == 0 {
			name = strings.ToUpper(name)
		}
		return name
	}
	return fmt.Sprint(n)
}

func (b bounds) part(r *random) string {
	low := b.min + r.pick(b.max-b.min+1)
	high := low + r.pick(b.max-low+1)
	switch r.pick(8) {
	case 0:
		return fmt.Sprintf("%d-%d", low, high)
	case 1:
		return fmt.Sprintf("%d-%d/%d", low, high, 1+r.pick(8))
	case 2:
		return fmt.Sprintf("*/%d", 1+r.pick(b.max))
	case 3:
		return fmt.Sprintf("%d/%d", low, 1+r.pick(b.max))
	case 4:
		return b.names2(r)
	}
	return b.value(r)
}

// names2 is a range whose ends may be names; it may run backwards, and is refused then.
func (b bounds) names2(r *random) string { return b.value(r) + "-" + b.value(r) }

func field(r *random, i int) string {
	b := fieldBounds[i]
	switch r.pick(6) {
	case 0, 1:
		return "*"
	case 2:
		if i == 2 || i == 4 {
			return "?"
		}
		return "*"
	case 3:
		parts := []string{b.part(r), b.part(r)}
		for r.pick(3) == 0 {
			parts = append(parts, b.part(r))
		}
		return strings.Join(parts, ",")
	}
	return b.part(r)
}

// early prefers the hours in which clocks are changed.
func early(r *random) string {
	return r.of([]string{"0", "1", "2", "3", "23", "0-3", "1,2", "*", "22", "2-4", "*/2", "*/3"})
}

func generated(r *random) string {
	fields := make([]string, 5)
	for i := range fields {
		fields[i] = field(r, i)
	}
	if r.pick(2) == 0 {
		fields[1] = early(r)
	}
	if r.pick(2) == 0 {
		fields[2], fields[3] = "*", "*"
	}
	text := strings.Join(fields, " ")
	if r.pick(8) == 0 {
		text = r.of([]string{"TZ=", "CRON_TZ="}) + r.of(zoneNames) + " " + text
	}
	return text
}

const junk = "0123456789*/-,? @=LW#\t+.ajnsuTZ\xff"

// broken changes a few bytes of a good schedule.
func broken(r *random, text string) string {
	bytes := []byte(text)
	for n := 1 + r.pick(3); n > 0; n-- {
		at := r.pick(len(bytes))
		switch r.pick(3) {
		case 0:
			bytes[at] = junk[r.pick(len(junk))]
		case 1:
			bytes = append(bytes[:at], bytes[at+1:]...)
		default:
			bytes = append(bytes[:at], append([]byte{junk[r.pick(len(junk))]}, bytes[at:]...)...)
		}
		if len(bytes) == 0 {
			break
		}
	}
	return string(bytes)
}

func duration(r *random) string {
	text := "@every "
	for n := 1 + r.pick(3); n > 0; n-- {
		text += fmt.Sprint(r.pick(500))
		if r.pick(4) == 0 {
			text += fmt.Sprintf(".%d", r.pick(1000000))
		}
		text += r.of([]string{"s", "m", "h", "ms", "us", "ns"})
	}
	return text
}

func schedules(r *random) []string {
	list := append([]string{}, written...)
	for _, text := range []string{"30 2 * * *", "0 0 * * *", "*/20 * * * *", "15 0-3 * * *", "0 0 1 * *", "0 1 * * 0", "45 23 * * *"} {
		for _, zone := range zoneNames {
			list = append(list, "CRON_TZ="+zone+" "+text)
		}
	}
	for i := 0; i < 2600; i++ {
		list = append(list, generated(r))
	}
	for i := 0; i < 100; i++ {
		list = append(list, duration(r))
	}
	for i := 0; i < 1500; i++ {
		list = append(list, broken(r, generated(r)))
	}
	return list
}
