// Prints what robfig/cron v3 and Go's time package answer to thousands of questions, as tables that
// the unit tests compare with baton's own answers. README.md says how to run it. The same program
// with the same zones prints the same bytes: its random numbers have a fixed seed, and no clock is
// read.
package main

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Zones whose clocks do what clocks can do. Their files lie beside the tables (slim TZif from Go's
// own zoneinfo.zip), so that no machine's tzdata takes part in the comparison.
var zoneNames = []string{
	"UTC",
	"Europe/Berlin",       // an hour, at 01:00 UTC
	"Europe/London",       // at Greenwich; all-year summer time in 1968-71
	"Europe/Dublin",       // "negative" summer time in winter
	"Europe/Lisbon",       // changed its standard offset more than once
	"Europe/Moscow",       // standard time moved in 2011 and 2014, no rule now
	"America/New_York",    // west of Greenwich, rule to the end of time
	"America/St_Johns",    // half an hour; changes at 00:01 until 2011; double summer time 1988
	"America/Havana",      // changes at midnight: 00:00 skipped, 01:00 to 00:00
	"America/Sao_Paulo",   // southern; midnight skipped; no summer time since 2019
	"America/Asuncion",    // midnight of 1 October skipped (2017), midnight repeated
	"America/Santiago",    // changes at 24:00
	"America/Caracas",     // half an hour in 2007, back in 2016
	"America/Nuuk",        // rule with a negative hour
	"Atlantic/Azores",     // west of Greenwich, 00:00 skipped
	"Africa/Casablanca",   // summer time suspended in Ramadan
	"Africa/Cairo",        // changes at 24:00 of a Thursday
	"Africa/Monrovia",     // offset with seconds until 1972
	"Antarctica/Troll",    // two hours
	"Asia/Kolkata",        // half an hour, none
	"Asia/Kathmandu",      // 5:45
	"Asia/Tehran",         // midnight; 3:30
	"Asia/Beirut",         // midnight
	"Asia/Gaza",           // hour 50 and 72 in the rule
	"Asia/Pyongyang",      // half an hour at 23:30 in 2018
	"Australia/Lord_Howe", // half an hour of summer time
	"Australia/Sydney",    // southern
	"Pacific/Auckland",    // southern
	"Pacific/Chatham",     // 12:45
	"Pacific/Apia",        // 30 December 2011 skipped
	"Pacific/Kwajalein",   // 21 August 1993 skipped
	"Pacific/Kiritimati",  // 31 December 1994 skipped
	"Etc/GMT+5",           // fixed
}

type random uint64 // splitmix64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *random) pick(n int) int { return int(r.next() % uint64(n)) }

func (r *random) of(list []string) string { return list[r.pick(len(list))] }

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// --- zones ---

// copyZones takes the zones' files out of Go's zoneinfo.zip.
func copyZones(dir string) {
	archive, err := zip.OpenReader(filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip"))
	fail(err)
	defer archive.Close()
	for _, name := range zoneNames {
		if name == "UTC" {
			continue
		}
		in, err := archive.Open(name)
		fail(err)
		data, err := io.ReadAll(in)
		fail(err)
		path := filepath.Join(dir, filepath.FromSlash(name))
		fail(os.MkdirAll(filepath.Dir(path), 0o755))
		fail(os.WriteFile(path, data, 0o644))
	}
}

func loadZones() []*time.Location {
	zones := make([]*time.Location, len(zoneNames))
	for i, name := range zoneNames {
		var err error
		zones[i], err = time.LoadLocation(name)
		fail(err)
	}
	return zones
}

// transitions finds the instants at which a zone's offset or abbreviation changes.
func transitions(zone *time.Location, from, to int64) []int64 {
	var found []int64
	key := func(s int64) string {
		name, offset := time.Unix(s, 0).In(zone).Zone()
		return fmt.Sprint(name, offset)
	}
	const step = 6 * 3600
	for s := from; s < to; s += step {
		if key(s) == key(s+step) {
			continue
		}
		low, high := s, s+step
		for high-low > 1 {
			middle := (low + high) / 2
			if key(middle) == key(s) {
				low = middle
			} else {
				high = middle
			}
		}
		found = append(found, high)
	}
	return found
}

func date(year int, month time.Month) int64 {
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// writeZones prints offset and abbreviation at instants, and the instants of dates on the wall.
func writeZones(out *bufio.Writer, zones []*time.Location) {
	r := random(1)
	fmt.Fprintln(out, "# z NAME; o INSTANT OFFSET ABBREVIATION; d YEAR MONTH DAY HOUR MINUTE SECOND INSTANT")
	for i, zone := range zones {
		fmt.Fprintf(out, "z %s\n", zoneNames[i])
		all := transitions(zone, date(1900, 1), date(2030, 1))
		all = append(all, transitions(zone, date(2037, 1), date(2039, 1))...)
		all = append(all, transitions(zone, date(2400, 1), date(2401, 1))...)
		moments := []int64{-1 << 40, -5000000000, 0, 1 << 31, 1 << 33, 253402300799, 1 << 40}
		for _, t := range all {
			if len(all) > 60 && r.pick(len(all)) >= 60 {
				continue
			}
			moments = append(moments, t-1, t)
			for _, d := range []int64{-7200, -3600, -1800, -1, 0, 1800, 3600, 7200} {
				if r.pick(2) == 0 {
					writeDate(out, zone, t+d, r.pick(2) == 0)
				}
			}
		}
		for _, s := range moments {
			name, offset := time.Unix(s, 0).In(zone).Zone()
			fmt.Fprintf(out, "o %d %d %s\n", s, offset, name)
		}
		for n := 0; n < 12; n++ { // fields out of their range
			y, mo, d := 1900+r.pick(300), r.pick(40)-15, r.pick(200)-90
			h, mi, s := r.pick(200)-90, r.pick(400)-190, r.pick(400)-190
			at := time.Date(y, time.Month(mo), d, h, mi, s, 0, zone).Unix()
			fmt.Fprintf(out, "d %d %d %d %d %d %d %d\n", y, mo, d, h, mi, s, at)
		}
	}
}

// writeDate asks for the wall's time that an instant near a change has before or after it.
func writeDate(out *bufio.Writer, zone *time.Location, s int64, before bool) {
	shift := int64(1)
	if before {
		shift = -1
	}
	_, offset := time.Unix(s+shift*86400, 0).In(zone).Zone()
	w := time.Unix(s+int64(offset), 0).UTC()
	at := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, zone).Unix()
	fmt.Fprintf(out, "d %d %d %d %d %d %d %d\n", w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(),
		w.Second(), at)
}

// --- asking the library ---

// parse takes a panic of the library ("TZ=UTC" without a schedule) for what it is, a refusal.
func parse(text string) (schedule cron.Schedule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return cron.ParseStandard(text)
}

const never = "-"

// mayHang tells which searches may pass a day that the zone skips: there the library can loop for
// ever, so those are asked in a process of their own.
func mayHang(zone string, after int64) bool {
	skipped := map[string]int64{
		"Pacific/Apia":       1325239200,
		"Pacific/Kwajalein":  745934400,
		"Pacific/Kiritimati": 788868000,
	}
	at, found := skipped[zone]
	return found && after < at+86400*2 && after > at-7*366*86400
}

// slots lists the next n slots: distances in minutes, or in seconds with an s.
func slots(schedule cron.Schedule, zone *time.Location, after time.Time, n int) string {
	var out strings.Builder
	last := after.Unix()
	at := after.In(zone)
	for i := 0; i < n; i++ {
		at = schedule.Next(at)
		if at.IsZero() {
			out.WriteString(" " + never)
			break
		}
		distance := at.Unix() - last
		if distance <= 0 {
			out.WriteString(" <")
			break
		}
		if distance%60 == 0 {
			fmt.Fprintf(&out, " %d", distance/60)
		} else {
			fmt.Fprintf(&out, " %ds", distance)
		}
		last = at.Unix()
	}
	return out.String()
}

func ask(text string, schedule cron.Schedule, zone *time.Location, name string, after time.Time, n int) string {
	if spec, ok := schedule.(*cron.SpecSchedule); ok && spec.Location != time.Local {
		own := spec.Location.String() // from the text in front of it
		if !mayHang(own, after.Unix()) {
			return slots(schedule, zone, after, n)
		}
	} else if !mayHang(name, after.Unix()) {
		return slots(schedule, zone, after, n)
	}
	child := exec.Command(os.Args[0], "ask", text, name, strconv.FormatInt(after.UnixMicro(), 10), strconv.Itoa(n))
	var answer strings.Builder
	child.Stdout = &answer
	fail(child.Start())
	timer := time.AfterFunc(2*time.Second, func() { child.Process.Kill() })
	err := child.Wait()
	timer.Stop()
	if err != nil {
		return " ~"
	}
	return answer.String()
}

func answerChild(args []string) {
	schedule, err := parse(args[0])
	fail(err)
	zone, err := time.LoadLocation(args[1])
	fail(err)
	after, err := strconv.ParseInt(args[2], 10, 64)
	fail(err)
	n, err := strconv.Atoi(args[3])
	fail(err)
	fmt.Print(slots(schedule, zone, time.UnixMicro(after), n))
}

// escape makes one line of any bytes, as text_escape does.
func escape(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < 0x20 || c > 0x7e || c == '\\' {
			fmt.Fprintf(&out, "\\x%02x", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

func writeSlots(out *bufio.Writer, zones []*time.Location) {
	r := random(2)
	fmt.Fprintln(out, "# z NUMBER NAME; + SCHEDULE (accepted); - SCHEDULE (refused); after +: ZONE INSTANT and the")
	fmt.Fprintln(out, "# distances to the next slots: minutes, seconds (s), none within five years (-), the library hangs (~)")
	fmt.Fprintln(out, "# or answers with a time that is not later (<)")
	near := make([][]int64, len(zones))
	for i, zone := range zones {
		fmt.Fprintf(out, "z %d %s\n", i, zoneNames[i])
		near[i] = transitions(zone, date(1966, 1), date(2026, 1))
		near[i] = append(near[i], transitions(zone, date(2040, 1), date(2042, 1))...)
	}
	seen := map[string]bool{}
	for _, text := range schedules(&r) {
		if seen[text] || strings.Contains(text, "\x00") {
			continue
		}
		seen[text] = true
		schedule, err := parse(text)
		if err != nil {
			fmt.Fprintf(out, "- %s\n", escape(text))
			continue
		}
		fmt.Fprintf(out, "+ %s\n", escape(text))
		for n := 0; n < 4; n++ {
			i := r.pick(len(zones))
			after := moment(&r, near[i])
			fmt.Fprintf(out, "%d %s%s\n", i, instant(after), ask(text, schedule, zones[i], zoneNames[i], after, 2+r.pick(4)))
		}
	}
}

func instant(t time.Time) string {
	us := t.UnixMicro()
	if us%1000000 == 0 {
		return strconv.FormatInt(us/1000000, 10)
	}
	return strconv.FormatInt(us, 10) + "u"
}

// moment is mostly near a change of the clock, sometimes anywhere, a few times far away.
func moment(r *random, near []int64) time.Time {
	var s int64
	switch kind := r.pick(20); {
	case kind < 14 && len(near) > 0:
		s = near[r.pick(len(near))]
		reach := []int{3600, 7200, 86400, 7 * 86400, 40 * 86400, 366 * 86400}[r.pick(6)]
		s += int64(r.pick(2*reach) - reach)
	case kind < 17:
		s = date(1970, 1) + int64(r.pick(60*365*86400))
	case kind < 18:
		s = date(1900, 1) + int64(r.pick(70*365*86400))
	default:
		s = date(2030, 1) + int64(r.pick(400))*365*86400 + int64(r.pick(365*86400))
	}
	switch r.pick(4) {
	case 0:
		return time.Unix(s-s%3600, 0)
	case 1:
		return time.UnixMicro(s*1000000 + int64(r.pick(1000000)))
	case 2:
		return time.Unix(s-s%60, 0)
	}
	return time.Unix(s, 0)
}

func write(path string, body func(*bufio.Writer)) {
	file, err := os.Create(path)
	fail(err)
	out := bufio.NewWriter(file)
	body(out)
	fail(out.Flush())
	fail(file.Close())
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "ask" {
		answerChild(os.Args[2:])
		return
	}
	dir, err := filepath.Abs("zoneinfo")
	fail(err)
	if os.Getenv("ZONEINFO") != dir {
		fmt.Fprintf(os.Stderr, "run it as README.md says: with ZONEINFO=%s\n", dir)
		os.Exit(2)
	}
	if len(os.Args) > 1 && os.Args[1] == "zones" {
		copyZones(dir)
		return
	}
	zones := loadZones()
	write("zones.txt", func(out *bufio.Writer) { writeZones(out, zones) })
	write("slots.txt", func(out *bufio.Writer) { writeSlots(out, zones) })
}
