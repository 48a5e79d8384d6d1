// Command load drives filesystem v1 PathExists with the official Go client and prints what it
// measured as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"time"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	address = flag.String("address", "", "on Linux the socket; on Windows the client knows its pipe")
	clients = flag.Int("clients", 1, "connections that call at the same time")
	calls   = flag.Int("calls", 2000, "calls in all, after the warm-up")
	first   = flag.Bool("first", false, "wait for a server and print when it answered the first call")
	path    = flag.String("path", `C:\var\lib\kubelet`, "the path that is asked for")
)

// warmUp is the number of calls of each client before the clock starts.
const warmUp = 50

type result struct {
	// Answered counts the calls of the warm-up too.
	Answered   int     `json:"answered"`
	PerSecond  float64 `json:"per_second"`
	P50Micros  float64 `json:"p50_us"`
	P99Micros  float64 `json:"p99_us"`
	FirstNanos int64   `json:"first_unix_ns,omitempty"`
}

func main() {
	flag.Parse()
	measured := measure
	if *first {
		measured = firstAnswer
	}
	answer, err := measured()
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		log.Fatal(err)
	}
	finish()
}

func measure() (result, error) {
	workers, err := connect(*clients)
	if err != nil {
		return result{}, err
	}
	if err := workers[0].makePath(); err != nil {
		return result{}, err
	}
	each := max(*calls / *clients, 1)
	if err := together(workers, func(w *worker) error { return w.call(warmUp) }); err != nil {
		return result{}, err
	}
	for _, w := range workers {
		w.took = make([]time.Duration, 0, each)
	}
	started := time.Now()
	if err := together(workers, func(w *worker) error { return w.call(each) }); err != nil {
		return result{}, err
	}
	return summary(workers, time.Since(started)), nil
}

// firstAnswer tries until a server is there, for 30 s. Any answer counts: a fresh node may not have
// the path.
func firstAnswer() (result, error) {
	fmt.Println("waiting")
	var err error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		var workers []*worker
		if workers, err = connect(1); err != nil {
			continue
		}
		if _, err = workers[0].ask(); err == nil {
			return result{Answered: 1, FirstNanos: time.Now().UnixNano()}, nil
		}
	}
	return result{}, err
}

// worker is a client with a connection of its own.
type worker struct {
	client v1.FilesystemClient
	took   []time.Duration
}

func connect(count int) ([]*worker, error) {
	workers := make([]*worker, count)
	for i := range workers {
		client, err := open(*address)
		if err != nil {
			return nil, err
		}
		workers[i] = &worker{client: client}
	}
	return workers, nil
}

// makePath makes the path that is asked for on a server that can; the peer only looks.
func (w *worker) makePath() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := w.client.Mkdir(ctx, &v1.MkdirRequest{Path: *path})
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	return err
}

func (w *worker) call(count int) error {
	for range count {
		started := time.Now()
		exists, err := w.ask()
		w.took = append(w.took, time.Since(started))
		if err != nil {
			return err
		}
		if !exists {
			return fmt.Errorf("%s is there, and the server denies it", *path)
		}
	}
	return nil
}

func (w *worker) ask() (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	answer, err := w.client.PathExists(ctx, &v1.PathExistsRequest{Path: *path})
	return answer.GetExists(), err
}

// together runs a function on all workers at once and answers the first error.
func together(workers []*worker, run func(*worker) error) error {
	var group sync.WaitGroup
	failed := make(chan error, len(workers))
	for _, w := range workers {
		group.Go(func() {
			if err := run(w); err != nil {
				failed <- err
			}
		})
	}
	group.Wait()
	close(failed)
	return <-failed
}

func summary(workers []*worker, elapsed time.Duration) result {
	var all []time.Duration
	for _, w := range workers {
		all = append(all, w.took...)
	}
	slices.Sort(all)
	at := func(share float64) float64 {
		return float64(all[int(share*float64(len(all)-1))].Nanoseconds()) / 1e3
	}
	return result{
		Answered:  len(all) + warmUp*len(workers),
		PerSecond: float64(len(all)) / elapsed.Seconds(),
		P50Micros: at(0.50),
		P99Micros: at(0.99),
	}
}
