// Campaign takes part in one etcd election, or takes one lock, by etcd's own client: a real contender for tests, which tells what
// it believes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

// Each line is one fact for the test that reads them, written at once.
func say(format string, words ...any) {
	fmt.Printf(format+"\n", words...)
}

func fail(what string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	os.Exit(1)
}

func main() {
	endpoints := flag.String("endpoints", "", "the members' client URLs, separated by commas")
	name := flag.String("name", "", "the election's or lock's name")
	value := flag.String("value", "", "what to propose")
	lock := flag.Bool("lock", false, "take the lock of that name instead")
	ttl := flag.Int("ttl", 10, "the lease's time to live in seconds")
	flag.Parse()

	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(*endpoints, ","), DialTimeout: 5 * time.Second})
	if err != nil {
		fail("connect", err)
	}
	session, err := concurrency.NewSession(client, concurrency.WithTTL(*ttl))
	if err != nil {
		fail("session", err)
	}
	go func() {
		<-session.Done()
		say("session ended")
	}()
	if *lock {
		mutex := concurrency.NewMutex(session, *name)
		if err := mutex.Lock(context.Background()); err != nil {
			say("refused %v", err)
		} else {
			say("leads %s", mutex.Key())
		}
	} else {
		election := concurrency.NewElection(session, *name)
		if err := election.Campaign(context.Background(), *value); err != nil {
			say("refused %v", err)
		} else {
			say("leads %s", election.Key())
		}
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
}
