// Elect holds, or waits for, one Kubernetes Lease by client-go's leader election: a real contender for tests and for the lab.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type options struct {
	kubeconfig, namespace, name, identity string
	duration, deadline, retry             time.Duration
	release                               bool
}

func parse() options {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "the kubeconfig to use")
	flag.StringVar(&o.namespace, "namespace", "default", "the Lease's namespace")
	flag.StringVar(&o.name, "name", "", "the Lease's name")
	flag.StringVar(&o.identity, "identity", "", "who this contender is")
	flag.DurationVar(&o.duration, "duration", 15*time.Second, "how long others wait for a renewal")
	flag.DurationVar(&o.deadline, "deadline", 10*time.Second, "when the holder gives up renewing")
	flag.DurationVar(&o.retry, "retry", 2*time.Second, "the pause between two tries")
	flag.BoolVar(&o.release, "release", false, "give the Lease back at the end")
	flag.Parse()
	return o
}

// Each line is one fact for the test that reads them, written at once.
func say(words ...any) {
	fmt.Println(words...)
}

func run(o options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.namespace, Name: o.name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.identity},
		},
		LeaseDuration: o.duration, RenewDeadline: o.deadline, RetryPeriod: o.retry,
		ReleaseOnCancel: o.release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { say("leading", o.identity) },
			OnStoppedLeading: func() { say("stopped", o.identity) },
			OnNewLeader:      func(who string) { say("leader", who) },
		},
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		elector.Run(ctx)
	}
	return nil
}

func main() {
	if err := run(parse()); err != nil {
		fmt.Fprintln(os.Stderr, "elect:", err)
		os.Exit(1)
	}
}
