// Prints what Kubernetes' CronJob controller makes of missed slots, as a table that a unit test
// compares with baton's own answers: the controller's own function is called, from the module that
// go.mod names. ../cron/README.md says how to run it.
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/kubernetes/pkg/controller/cronjob"
)

// The last argument says whether startingDeadlineSeconds counts. The third answer is none (0), few
// (1) or many (2).
//
//go:linkname mostRecentScheduleTime k8s.io/kubernetes/pkg/controller/cronjob.mostRecentScheduleTime
func mostRecentScheduleTime(*batchv1.CronJob, time.Time, cron.Schedule, bool) (time.Time, *time.Time, int, error)

var zoneNames = []string{
	"UTC", "Europe/Berlin", "Europe/London", "America/New_York", "America/Sao_Paulo", "Asia/Kathmandu",
	"Australia/Sydney", "Australia/Lord_Howe",
}

var schedules = []string{
	"* * * * *", "*/5 * * * *", "*/7 * * * *", "0 * * * *", "30 */2 * * *", "0 2 * * *", "30 2 * * *", "0 0 * * *",
	"0 9 * * 1-5", "0 9-17 * * mon-fri", "30 6-16/4 * * 1-5", "* 3 * * *", "* * * * 1", "0 0 1 * *", "0 0 31 * *",
	"0 0 1,2 * *", "0 12 * 1 *", "0 0 29 2 *", "59 23 31 2 *", "0 0 30 2 *", "0 0 13 * 5", "5,10 4 * * *",
	"@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@every 1s", "@every 90s", "@every 7m", "@every 5h30m", "@every 36h",
}

var spans = []int{30, 300, 3600, 6 * 3600, 30 * 3600, 100 * 3600, 101 * 3600, 8 * 86400, 40 * 86400, 400 * 86400, 1500 * 86400}

type random uint64 // splitmix64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *random) pick(n int) int { return int(r.next() % uint64(n)) }

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// count is what controllers up to 1.20 did: one by one, and no further than 101.
func count(schedule cron.Schedule, since, now time.Time) int {
	n := 0
	for t := schedule.Next(since); !t.IsZero() && !t.After(now) && n < 101; t = schedule.Next(t) {
		n++
	}
	return n
}

func ask(out *bufio.Writer, text string, zone *time.Location, since, now time.Time, deadline int64) {
	schedule, err := cron.ParseStandard(text)
	fail(err)
	job := &batchv1.CronJob{}
	job.CreationTimestamp = metav1.Time{Time: since.In(zone)}
	if deadline >= 0 {
		job.Spec.StartingDeadlineSeconds = &deadline
	}
	earliest, latest, kind, err := mostRecentScheduleTime(job, now.In(zone), schedule, true)
	answer := fmt.Sprint(kind)
	if err != nil {
		answer = "never"
	}
	at := "-"
	if latest != nil {
		at = fmt.Sprint(latest.Unix())
	}
	fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%d\n", text, zone, since.Unix(), deadline, now.UnixMicro(),
		answer, at, count(schedule, earliest, now))
}

func main() {
	dir, err := filepath.Abs("../cron/zoneinfo")
	fail(err)
	if os.Getenv("ZONEINFO") != dir {
		fmt.Fprintf(os.Stderr, "run it as ../cron/README.md says: with ZONEINFO=%s\n", dir)
		os.Exit(2)
	}
	file, err := os.Create("missed.txt")
	fail(err)
	out := bufio.NewWriter(file)
	fmt.Fprintln(out, "# schedule, zone, last schedule time, deadline (-1: none), now in microseconds;")
	fmt.Fprintln(out, "# 0 none, 1 few, 2 many or never; the slot it would start; slots counted one by one, up to 101")
	r := random(3)
	for _, text := range schedules {
		for n := 0; n < 66; n++ {
			zone, err := time.LoadLocation(zoneNames[r.pick(len(zoneNames))])
			fail(err)
			since := time.Unix(int64(1500000000+r.pick(300000000)), 0)
			if r.pick(2) == 0 {
				since = since.Truncate(time.Hour)
			}
			now := since.Add(time.Duration(1+r.pick(2*spans[n%len(spans)])) * time.Second)
			if r.pick(3) == 0 {
				now = now.Truncate(time.Minute)
			}
			if r.pick(3) == 0 {
				now = now.Add(time.Duration(r.pick(1000000)) * time.Microsecond)
			}
			deadline := int64(-1)
			if r.pick(3) == 0 {
				deadline = int64(r.pick(2 * spans[r.pick(len(spans))]))
			}
			ask(out, text, zone, since, now, deadline)
		}
	}
	fail(out.Flush())
	fail(file.Close())
}
