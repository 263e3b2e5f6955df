// client ADDRESS: a NodePool from its spec to its end.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"time"

	muster "muster.example/api"
	lifecycle "muster.example/api/muster/lifecycle/v1"
	watch "muster.example/api/muster/type/v1"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const name = "organizations/acme/clusters/example/nodePools/go"

// requestID makes a request safe to repeat: under one id it is carried out once.
func requestID() string {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		log.Fatal(err)
	}
	return hex.EncodeToString(id)
}

// follow returns once done holds of the pool (nil: it is gone), from an answer on: a watch after its revision misses nothing. A stream
// that broke goes on after the last revision that it told.
func follow(ctx context.Context, client lifecycle.LifecycleServiceClient, pool *lifecycle.NodePool, done func(*lifecycle.NodePool) bool) error {
	if done(pool) {
		return nil
	}
	from := &watch.WatchStart{AfterRevision: proto.Int64(pool.Revision)}
	for {
		err := followOnce(ctx, client, from, done)
		if status.Code(err) != codes.Unavailable {
			return err
		}
		time.Sleep(time.Second)
	}
}

// followOnce moves from as the stream goes on.
func followOnce(ctx context.Context, client lifecycle.LifecycleServiceClient, from *watch.WatchStart, done func(*lifecycle.NodePool) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.WatchLifecycle(ctx, &lifecycle.WatchLifecycleRequest{
		Start:      from,
		NamePrefix: name,
		Kinds:      []lifecycle.WatchLifecycleRequest_Kind{lifecycle.WatchLifecycleRequest_KIND_NODE_POOL},
	})
	if err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		from.AfterRevision = proto.Int64(message.Revision)
		if message.Incarnation != "" {
			from.Incarnation = message.Incarnation
		}
		if message.Key == name && done(message.GetNodePool()) {
			return nil
		}
	}
}

func ready(pool *lifecycle.NodePool) bool {
	for _, condition := range pool.GetStatus().GetConditions() {
		if condition.Type == "Ready" && condition.Status == "True" {
			fmt.Printf("ready: %d Nodes\n", pool.Status.CurrentNodes)
			return true
		}
	}
	return false
}

// scale is refused where the quota is not enough.
func scale(ctx context.Context, client lifecycle.LifecycleServiceClient, nodes int64) (*lifecycle.NodePool, error) {
	return client.ResizeNodePool(ctx, &lifecycle.ResizeNodePoolRequest{
		Name: name, TargetNodes: proto.Int64(nodes), MustFit: true, RequestId: requestID()})
}

// explain prints what an error says beside its message.
func explain(err error) {
	fmt.Println("refused:", status.Code(err), muster.Reason(err))
	for _, detail := range status.Convert(err).Details() {
		switch detail := detail.(type) {
		case *errdetails.QuotaFailure:
			for _, violation := range detail.Violations {
				fmt.Println(" ", violation.Subject, violation.Description)
			}
		case *errdetails.BadRequest:
			for _, violation := range detail.FieldViolations {
				fmt.Println(" ", violation.Field, violation.Description)
			}
		}
	}
}

func run(ctx context.Context, client lifecycle.LifecycleServiceClient) error {
	spec := &lifecycle.NodePoolSpec{InstanceType: "gd-8xa100-i128", TargetNodes: proto.Int64(2)}
	pool, err := client.ApplyNodePool(ctx, &lifecycle.ApplyNodePoolRequest{NodePool: &lifecycle.NodePool{Name: name, Spec: spec}})
	if err != nil {
		return err
	}
	if err := follow(ctx, client, pool, ready); err != nil {
		return err
	}
	for _, nodes := range []int64{5000, 200000, 3} {
		scaled, err := scale(ctx, client, nodes)
		if err != nil {
			explain(err)
			continue
		}
		if err := follow(ctx, client, scaled, ready); err != nil {
			return err
		}
	}
	pool, err = client.DeleteNodePool(ctx, &lifecycle.DeleteNodePoolRequest{Name: name, RequestId: requestID()})
	if err != nil {
		return err
	}
	if err := follow(ctx, client, pool, func(pool *lifecycle.NodePool) bool { return pool == nil }); err != nil {
		return err
	}
	fmt.Println("deleted")
	return nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: client ADDRESS")
	}
	connection, err := grpc.Dial(os.Args[1], grpc.WithInsecure(), grpc.WithDefaultServiceConfig(muster.ServiceConfig))
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	if err := run(context.Background(), lifecycle.NewLifecycleServiceClient(connection)); err != nil {
		log.Fatal(err)
	}
}
