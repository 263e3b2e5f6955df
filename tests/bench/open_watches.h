#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "tests/bench/calls.h"

namespace muster::bench {

// Many watches of a server, as long as it lives. `Start` begins one: the async stub's method.
template <class Service, class Request, class Response>
class OpenWatches {
 public:
  using Stub = typename Service::Stub;
  using Start = std::function<void(Stub& stub, grpc::ClientContext* context, const Request* request,
                                   grpc::ClientReadReactor<Response>* reactor)>;
  struct Options {
    std::string target = {};
    int count = 0;
    int each_connection = 500;
    // Reads what comes; else it only opens the stream.
    bool reads = true;
    Start start = {};
    std::function<Request(int number)> request = {};
    // Called with each message, on gRPC's threads; those of one watch come one after the other. May
    // be null.
    std::function<void(const Response&)> seen = {};
  };

  // Returns when all have read their first message or, where they do not read, are open.
  explicit OpenWatches(Options options)
      : options_(std::move(options)), open_(options_.count), done_(options_.count) {
    for (int i = 0; i < options_.count; ++i) {
      if (i % options_.each_connection == 0) Connect(i);
      watches_.push_back(std::make_unique<Watch>(*this, *stubs_.back(), i));
    }
    open_.Wait();
  }
  ~OpenWatches() {
    for (const auto& watch : watches_) watch->Cancel();
    done_.Wait();
  }
  OpenWatches(const OpenWatches&) = delete;
  OpenWatches& operator=(const OpenWatches&) = delete;

 private:
  class Watch final : public grpc::ClientReadReactor<Response> {
   public:
    Watch(OpenWatches& all, Stub& stub, int number)
        : all_(all), request_(all.options_.request(number)) {
      all_.options_.start(stub, &context_, &request_, this);
      if (all_.options_.reads) this->StartRead(&response_);
      this->StartCall();
    }
    void Cancel() { context_.TryCancel(); }

    void OnReadInitialMetadataDone(bool) override {
      if (!all_.options_.reads) IsOpen();
    }
    void OnReadDone(bool ok) override {
      if (ok && all_.options_.seen) all_.options_.seen(response_);
      IsOpen();
      if (ok) this->StartRead(&response_);
    }
    void OnDone(const grpc::Status&) override { all_.done_.DecrementCount(); }

   private:
    void IsOpen() {
      if (!std::exchange(is_open_, true)) all_.open_.DecrementCount();
    }

    OpenWatches& all_;
    bool is_open_ = false;
    grpc::ClientContext context_;
    const Request request_;
    Response response_;
  };

  void Connect(int number) {
    grpc::ChannelArguments arguments;
    // Channels with equal arguments would share a connection.
    arguments.SetString("muster.bench.watches", absl::StrCat(options_.reads, "-", number));
    stubs_.push_back(
        Service::NewStub(grpc::CreateCustomChannel(options_.target, Credentials(), arguments)));
  }

  const Options options_;
  absl::BlockingCounter open_;
  absl::BlockingCounter done_;
  std::vector<std::unique_ptr<Stub>> stubs_;
  std::vector<std::unique_ptr<Watch>> watches_;
};

}  // namespace muster::bench
