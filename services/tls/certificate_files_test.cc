// Who is let in, and what becomes of files that change, on real connections.
#include "services/tls/certificate_files.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/tls/pem_folder.h"
#include "tests/testing/authority.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"

namespace muster::tls {
namespace {

using ::muster::testing::Authority;
using ::muster::testing::StatusIs;
using ::muster::testing::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kServer[] = "subjectAltName=DNS:localhost,URI:spiffe://muster.test/musterd";

class CertificateFilesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    authority_ = new Authority();
    authority_->Issue("server", kServer);
    authority_->Issue("renewed", kServer);
    authority_->Issue("elsewhere",
                      "subjectAltName=DNS:elsewhere.test,URI:spiffe://muster.test/musterd");
    authority_->Issue("client",
                      "subjectAltName=URI:spiffe://muster.test/ci\nextendedKeyUsage=clientAuth");
    authority_->Issue("guest",
                      "subjectAltName=URI:spiffe://other.test/ci\nextendedKeyUsage=clientAuth");
    authority_->Issue("nameless", "subjectAltName=DNS:localhost");
    stranger_ = new Authority();
    stranger_->Issue("client", "subjectAltName=URI:spiffe://muster.test/ci");
  }
  static void TearDownTestSuite() {
    delete authority_;
    delete stranger_;
  }

  void SetUp() override {
    Place("server");
    auto files = CertificateFiles::Create(Of("now"));
    ASSERT_TRUE(files.ok()) << files.status();
    Serve(*std::move(files));
  }
  void Serve(std::unique_ptr<CertificateFiles> files) {
    server_.reset();
    files_ = std::move(files);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("localhost:0", files_->ForServer(), &port);
    service_ = std::make_unique<grpc::CallbackGenericService>();  // one is one server's
    builder.RegisterCallbackGenericService(service_.get());
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = absl::StrCat("localhost:", port);
  }

  // Puts a certificate and its key where the server's are.
  void Place(const std::string& name) {
    Copy(authority_->certificate(name), "now.crt");
    Copy(authority_->key(name), "now.key");
  }
  void Copy(const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, folder_.Path("draft"),
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(folder_.Path("draft"), folder_.Path(to));
  }
  Files Of(const std::string& name, Use use = Use::kServer) const {
    Files files{.authorities = authority_->authority(),
                .trust_domain = "muster.test",
                .use = use,
                .interval = absl::Hours(1)};
    files.certificates = name == "now" ? folder_.Path("now.crt") : authority_->certificate(name);
    files.key = name == "now" ? folder_.Path("now.key") : authority_->key(name);
    return files;
  }

  // One that makes a connection of its own.
  std::shared_ptr<grpc::Channel> NewChannel(
      const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address_, credentials, arguments);
  }
  bool IsLetIn(const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    return NewChannel(credentials)
        ->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
  }
  // Whether its first attempt fails, however long that takes. False: there is a connection, or no
  // answer for a minute.
  bool IsRefused(const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
    const auto channel = NewChannel(credentials);
    const auto give_up = absl::ToChronoTime(absl::Now() + absl::Minutes(1));
    grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
    while (state != GRPC_CHANNEL_READY && state != GRPC_CHANNEL_TRANSIENT_FAILURE &&
           channel->WaitForStateChange(state, give_up))
      state = channel->GetState(true);
    return state == GRPC_CHANNEL_TRANSIENT_FAILURE;
  }
  static std::shared_ptr<grpc::ChannelCredentials> Client(const Files& files) {
    auto credentials = ClientCredentials(files);
    if (!credentials.ok()) throw std::runtime_error(credentials.status().ToString());
    return *credentials;
  }
  // A client's, of any trust domain.
  std::shared_ptr<grpc::ChannelCredentials> ClientOf(const Authority& authority,
                                                     const std::string& name) const {
    return Client({.certificates = authority.certificate(name),
                   .key = authority.key(name),
                   .authorities = authority.authority()});
  }
  static inline Authority* authority_ = nullptr;
  static inline Authority* stranger_ = nullptr;
  TempFolder folder_;
  std::unique_ptr<CertificateFiles> files_;
  std::unique_ptr<grpc::CallbackGenericService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

TEST_F(CertificateFilesTest, ACallerOfTheTrustDomainIsLetIn) {
  EXPECT_EQ(files_->stats().identity.id, "spiffe://muster.test/musterd");
  EXPECT_TRUE(IsLetIn(ClientOf(*authority_, "client")));
  EXPECT_TRUE(IsLetIn(files_->ForClient())) << "one server calls another";
  EXPECT_EQ(files_->stats().refused_handshakes, 0);
}

TEST_F(CertificateFilesTest, WhoHasNoNameHereIsRefused) {
  const auto is_told_of = [&](const std::string& name) {
    const int64_t before = files_->stats().refused_handshakes;
    const auto credentials = ClientOf(*authority_, name);
    testing::Until(
        [&] {
          EXPECT_TRUE(IsRefused(credentials)) << name;
          return files_->stats().refused_handshakes > before;
        },
        name);
  };
  is_told_of("guest");  // of another trust domain
  is_told_of("nameless");
}

TEST_F(CertificateFilesTest, WhoShowsNoCertificateOrAStrangersIsRefused) {
  EXPECT_TRUE(IsRefused(grpc::InsecureChannelCredentials()));
  grpc::SslCredentialsOptions none;
  none.pem_root_certs = authority_->Text("ca.crt");
  EXPECT_TRUE(IsRefused(grpc::SslCredentials(none)));
  none.pem_private_key = stranger_->Text("client.key");
  none.pem_cert_chain = stranger_->Text("client.crt");
  EXPECT_TRUE(IsRefused(grpc::SslCredentials(none)));
}

TEST_F(CertificateFilesTest, AServerThatIsNotWhomWeCalledIsRefused) {
  EXPECT_TRUE(IsRefused(ClientOf(*stranger_, "client"))) << "its authority is none of ours";
  Place("elsewhere");
  ASSERT_TRUE(files_->Reload().ok());
  const auto own = files_->ForOwnServer();
  EXPECT_TRUE(IsLetIn(own)) << "to call oneself any name will do";
  testing::Until([&] { return IsRefused(ClientOf(*authority_, "client")); }, "its name is another");
}

TEST_F(CertificateFilesTest, NewFilesAreUsedFromThenOn) {
  Files files = Of("now");
  files.interval = absl::Milliseconds(10);
  const auto watched = CertificateFiles::Create(files);
  ASSERT_TRUE(watched.ok());
  const absl::Time expires = absl::Now() + absl::Hours(30);
  authority_->Issue("renewed", kServer, absl::Now() - absl::Minutes(1), expires);
  Place("renewed");
  testing::Until(
      [&] {
        return (*watched)->stats().identity.expires ==
               absl::FromUnixSeconds(absl::ToUnixSeconds(expires));
      },
      "the new certificate");
  EXPECT_EQ((*watched)->stats().taken, 2);
}

// Written one after the other, as most tools do.
TEST_F(CertificateFilesTest, FilesThatAreBeingWrittenAreNotRefused) {
  Copy(authority_->key("renewed"), "now.key");
  EXPECT_THAT(files_->Look(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(files_->stats().refused, 0);
  Copy(authority_->certificate("renewed"), "now.crt");
  EXPECT_TRUE(files_->Look().ok());
  EXPECT_EQ(files_->stats().taken, 2);
  EXPECT_EQ(files_->stats().refused, 0);
}

// A key that does not fit would end every new handshake, without a word.
TEST_F(CertificateFilesTest, FilesThatDoNotFitAreRefusedAndTheLastStay) {
  Copy(authority_->key("client"), "now.key");
  for (int look = 1; look <= 3; ++look) {
    EXPECT_THAT(
        files_->Look(),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr(absl::StrCat("--tls_key_file: ", folder_.Path("now.key"), " is not"))));
    EXPECT_EQ(files_->stats().refused, look > 1) << "told once";
  }
  EXPECT_EQ(files_->stats().identity.id, "spiffe://muster.test/musterd");
  // Longer than gRPC takes to look at its copies.
  std::this_thread::sleep_for(std::chrono::milliseconds(2'500));
  EXPECT_TRUE(IsLetIn(ClientOf(*authority_, "client")));
  std::filesystem::remove(folder_.Path("now.key"));
  EXPECT_THAT(files_->Reload(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cannot be read")));
  EXPECT_EQ(files_->stats().refused, 2);
  EXPECT_TRUE(files_->stats().refused_now);
  EXPECT_TRUE(IsLetIn(ClientOf(*authority_, "client")));
  Place("renewed");
  EXPECT_TRUE(files_->Look().ok());
  EXPECT_FALSE(files_->stats().refused_now);
  EXPECT_EQ(files_->stats().taken, 2);
}

// Where an authority's clock is ahead of ours.
TEST_F(CertificateFilesTest, WhatIsNotGoodYetIsTakenOnceItIs) {
  const absl::Time begins = absl::Now() + absl::Seconds(10);
  authority_->Issue("soon", kServer, begins, begins + absl::Hours(1));
  Place("soon");
  EXPECT_THAT(files_->Reload(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not yet valid")));
  testing::Until([&] { return files_->Look().ok(); }, "the certificate's time");
  EXPECT_EQ(files_->stats().taken, 2);
  EXPECT_EQ(files_->stats().refused, 1);
}

// By who knows no locks, as systemd-tmpfiles does.
TEST_F(CertificateFilesTest, WhereTheCopiesWereTidiedUpTheyAreMadeAnew) {
  TempFolder top;
  setenv("RUNTIME_DIRECTORY", top.path().c_str(), 1);
  const auto made = CertificateFiles::Create(Of("now"));
  unsetenv("RUNTIME_DIRECTORY");
  ASSERT_TRUE(made.ok());
  std::filesystem::remove_all(*std::filesystem::directory_iterator(top.path()));
  Place("renewed");
  EXPECT_TRUE((*made)->Reload().ok());
  EXPECT_EQ((*made)->stats().taken, 2);
  EXPECT_FALSE(std::filesystem::is_empty(top.path()));
}

// Whoever is on the machine may make a folder in `/tmp`, of a name that he saw there.
TEST_F(CertificateFilesTest, WhatOthersPutWhereTheCopiesWereIsNeitherReadNorWritten) {
  TempFolder top;
  setenv("RUNTIME_DIRECTORY", top.path().c_str(), 1);
  auto made = CertificateFiles::Create(Of("now"));
  unsetenv("RUNTIME_DIRECTORY");
  ASSERT_TRUE(made.ok());
  Serve(*std::move(made));
  const std::filesystem::path was = *std::filesystem::directory_iterator(top.path());
  std::filesystem::remove_all(was);
  std::filesystem::create_directories(was / "now");
  std::filesystem::permissions(was, std::filesystem::perms::all);
  std::ofstream(was / "now/authorities") << authority_->Text("ca.crt") << stranger_->Text("ca.crt");
  // Longer than gRPC takes to look at its copies.
  std::this_thread::sleep_for(std::chrono::milliseconds(2'500));
  grpc::SslCredentialsOptions stranger;
  stranger.pem_root_certs = authority_->Text("ca.crt");
  stranger.pem_private_key = stranger_->Text("client.key");
  stranger.pem_cert_chain = stranger_->Text("client.crt");
  EXPECT_TRUE(IsRefused(grpc::SslCredentials(stranger)));
  EXPECT_TRUE(IsLetIn(ClientOf(*authority_, "client")));
  Place("renewed");
  ASSERT_TRUE(files_->Reload().ok());
  const auto entries_of = [](const std::filesystem::path& folder) {
    return std::distance(std::filesystem::directory_iterator(folder),
                         std::filesystem::directory_iterator());
  };
  EXPECT_EQ(entries_of(was), 1) << "what he put there, and no key of ours";
  EXPECT_EQ(entries_of(top.path()), 2) << "ours has a name of its own";
  EXPECT_TRUE(IsLetIn(ClientOf(*authority_, "client")));
  server_.reset();
  files_.reset();
  EXPECT_EQ(entries_of(was), 1) << "nor is it removed";
}

TEST_F(CertificateFilesTest, AtTheStartEverythingMustBeThere) {
  Files files = Of("server");
  files.key = "/nowhere";
  EXPECT_THAT(CertificateFiles::Create(files).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--tls_key_file: /nowhere cannot be read, or is empty.")));
  files.key = folder_.path();
  EXPECT_THAT(CertificateFiles::Create(files).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--tls_key_file: ")));
  EXPECT_THAT(CertificateFiles::Create(Of("client")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be for servers")));
  EXPECT_TRUE(CertificateFiles::Create(Of("client", Use::kClient)).ok());
  EXPECT_THAT(CertificateFiles::Create(Of("guest", Use::kClient)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--tls_cert_file: "), HasSubstr("muster.test"))));
}

// Each looks for folders of killed programs, and new ones of the others are not locked yet.
TEST_F(CertificateFilesTest, ManyMayStartAtTheSameTime) {
  TempFolder top;
  setenv("RUNTIME_DIRECTORY", top.path().c_str(), 1);
  std::vector<std::string> refused[8];
  std::vector<std::thread> starting;
  for (std::vector<std::string>& mine : refused) {
    starting.emplace_back([&] {
      for (int time = 0; time < 200; ++time) {
        absl::StatusOr<PemFolder> made = PemFolder::Create();
        const absl::Status put = made.ok() ? made->Put({}) : made.status();
        if (!put.ok()) mine.push_back(put.ToString());
      }
    });
  }
  for (std::thread& thread : starting) thread.join();
  unsetenv("RUNTIME_DIRECTORY");
  for (const std::vector<std::string>& mine : refused) EXPECT_THAT(mine, IsEmpty());
}

// Nothing that a program does at its end can be relied on.
TEST_F(CertificateFilesTest, CopiesOfWhoWasKilledGoWhenTheNextStarts) {
  TempFolder top;
  setenv("RUNTIME_DIRECTORY", top.path().c_str(), 1);
  const auto alive = CertificateFiles::Create(Of("server"));
  const std::string abandoned = top.Path("muster-tls-killed");  // held by nobody
  std::filesystem::create_directories(abandoned + "/version-0");
  std::ofstream(abandoned + "/version-0/key") << "secret";
  const auto folders = [&] {
    return std::distance(std::filesystem::directory_iterator(top.path()),
                         std::filesystem::directory_iterator());
  };
  EXPECT_EQ(folders(), 2);
  ASSERT_TRUE(alive.ok());
  const auto next = CertificateFiles::Create(Of("server"));
  unsetenv("RUNTIME_DIRECTORY");
  EXPECT_EQ(folders(), 2) << "the living one's, and the next one's";
  EXPECT_TRUE((*alive)->Reload().ok());
}

// Copies of keys are left nowhere, and nobody else reads them meanwhile.
TEST_F(CertificateFilesTest, TheCopiesAreOursAloneAndGo) {
  TempFolder top;
  setenv("RUNTIME_DIRECTORY", top.path().c_str(), 1);
  auto made = CertificateFiles::Create(Of("server"));
  unsetenv("RUNTIME_DIRECTORY");
  ASSERT_TRUE(made.ok());
  ASSERT_NE(std::filesystem::directory_iterator(top.path()), std::filesystem::directory_iterator());
  const auto folder = *std::filesystem::directory_iterator(top.path());
  EXPECT_EQ(folder.status().permissions(), std::filesystem::perms::owner_all);
  for (const char* file : {"key", "certificates", "authorities"}) {
    EXPECT_EQ(std::filesystem::status(folder.path() / "now" / file).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << file;
  }
  *made = nullptr;
  EXPECT_TRUE(std::filesystem::is_empty(top.path()));
}

}  // namespace
}  // namespace muster::tls
