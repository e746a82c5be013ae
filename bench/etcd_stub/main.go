// Answers for any number of etcd members on loopback addresses, as settled members answer.
//
// Each line on standard input is a cluster, in JSON. Its members are served from then on: gRPC on their client
// port, and the health endpoints on their metrics port. One with "silent" is of members that are known already:
// from then on they take connections and answer nothing. The number of lines is printed after each.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const (
	clientPort  = "2379"
	metricsPort = "2381"
)

type member struct {
	Address string `json:"address"`
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	PeerURL string `json:"peer_url"`
}

type cluster struct {
	ID      uint64   `json:"id"`
	Version string   `json:"version"`
	Members []member `json:"members"`
	Silent  bool     `json:"silent"`
}

// stub knows by address who is asked.
type stub struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedClusterServer

	lock   sync.RWMutex
	known  map[string]asked
	silent map[string]bool
}

type asked struct {
	cluster *cluster
	member  *member
}

func (s *stub) who(ctx context.Context) (asked, error) {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return asked{}, status.Error(codes.Internal, "no peer")
	}
	address, _, err := net.SplitHostPort(from.LocalAddr.String())
	if err != nil {
		return asked{}, status.Error(codes.Internal, err.Error())
	}
	if s.isSilent(address) {
		<-ctx.Done()
		return asked{}, ctx.Err()
	}
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.known[address], nil
}

func (s *stub) isSilent(address string) bool {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.silent[address]
}

func (s *stub) silence(one *cluster) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, member := range one.Members {
		s.silent[member.Address] = true
	}
}

func (s *stub) health(writer http.ResponseWriter, request *http.Request) {
	if local, ok := request.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		address, _, err := net.SplitHostPort(local.String())
		if err == nil && s.isSilent(address) {
			<-request.Context().Done()
			return
		}
	}
	_, _ = io.WriteString(writer, "ok")
}

func header(who asked) *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: who.cluster.ID, MemberId: who.member.ID, Revision: 1, RaftTerm: 2}
}

func (s *stub) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	who, err := s.who(ctx)
	if err != nil {
		return nil, err
	}
	return &pb.StatusResponse{
		Header:           header(who),
		Version:          who.cluster.Version,
		DbSize:           20480,
		DbSizeInUse:      16384,
		Leader:           who.cluster.Members[0].ID,
		RaftIndex:        8,
		RaftTerm:         2,
		RaftAppliedIndex: 8,
	}, nil
}

func (s *stub) MemberList(ctx context.Context, _ *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	who, err := s.who(ctx)
	if err != nil {
		return nil, err
	}
	response := &pb.MemberListResponse{Header: header(who)}
	for _, one := range who.cluster.Members {
		response.Members = append(response.Members, &pb.Member{
			ID:         one.ID,
			Name:       one.Name,
			PeerURLs:   []string{one.PeerURL},
			ClientURLs: []string{"http://" + net.JoinHostPort(one.Address, clientPort)},
		})
	}
	return response, nil
}

func (s *stub) Alarm(ctx context.Context, _ *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	who, err := s.who(ctx)
	if err != nil {
		return nil, err
	}
	return &pb.AlarmResponse{Header: header(who)}, nil
}

func (s *stub) add(one *cluster, rpc *grpc.Server, health http.Handler) error {
	for index := range one.Members {
		address := one.Members[index].Address
		s.lock.Lock()
		s.known[address] = asked{one, &one.Members[index]}
		s.lock.Unlock()
		client, err := net.Listen("tcp", net.JoinHostPort(address, clientPort))
		if err != nil {
			return err
		}
		metrics, err := net.Listen("tcp", net.JoinHostPort(address, metricsPort))
		if err != nil {
			return err
		}
		go func() { log.Print(rpc.Serve(client)) }()
		go func() { log.Print(http.Serve(metrics, health)) }()
	}
	return nil
}

func main() {
	served := &stub{known: map[string]asked{}, silent: map[string]bool{}}
	rpc := grpc.NewServer()
	pb.RegisterMaintenanceServer(rpc, served)
	pb.RegisterClusterServer(rpc, served)
	lines := bufio.NewScanner(os.Stdin)
	for count := 1; lines.Scan(); count++ {
		one := new(cluster)
		if err := json.Unmarshal(lines.Bytes(), one); err != nil {
			log.Fatal(err)
		}
		if one.Silent {
			served.silence(one)
		} else if err := served.add(one, rpc, http.HandlerFunc(served.health)); err != nil {
			log.Fatal(err)
		}
		fmt.Println(count)
	}
}
