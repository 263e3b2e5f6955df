#include "services/musterctl/commands/contexts.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/musterctl/commands/testing/commands_test_base.h"
#include "tests/testing/authority.h"
#include "tests/testing/temp_folder.h"

namespace muster::musterctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ContextsTest : public CommandsTest {
 protected:
  ContextsTest() { environment_["MUSTER_CONFIG"] = path_; }

  void Write(absl::string_view text) { std::ofstream(path_) << text; }
  // Which server a call goes to.
  std::string ServerOf(std::vector<std::string> args) {
    args.insert(args.end(), {"auth", "whoami"});
    EXPECT_EQ(RunLine(args), kDone) << err();
    return options_.server;
  }

  testing::TempFolder folder_;
  const std::string path_ = folder_.Path("a/config.yaml");
};

TEST_F(ContextsTest, AreSetShownUsedAndDeleted) {
  EXPECT_EQ(RunLine({"config", "get-contexts"}), kDone);
  EXPECT_THAT(out(), HasSubstr("No contexts."));
  EXPECT_EQ(RunLine({"config", "set-context", "prod", "--server=m.example.org:7600",
                     "--organization=acme", "--cluster=it's"}),
            kDone)
      << err();
  EXPECT_EQ(out(),
            absl::StrCat("context prod is set in ", path_, "\ncontext prod is used from now on\n"));
  EXPECT_EQ(RunLine({"config", "set-context", "lab", "--server=lab:1"}), kDone);
  EXPECT_EQ(out(), absl::StrCat("context lab is set in ", path_, "\n"));
  EXPECT_EQ(RunLine({"config", "get-contexts"}), kDone);
  EXPECT_EQ(out(),
            "CURRENT   NAME   SERVER               ORGANIZATION   CLUSTER   CREDENTIALS\n"
            "*         prod   m.example.org:7600   acme           it's      <none>\n"
            "          lab    lab:1                <none>         <none>    <none>\n");
  NarrowTerminal terminal;
  terminal_at_ = &terminal;
  EXPECT_EQ(RunLine({"config", "get-contexts"}), kDone);
  EXPECT_THAT(out(), HasSubstr("\x1b[1mSERVER\x1b[0m")) << "as every table on a terminal";
  terminal_at_ = nullptr;
  EXPECT_EQ(ServerOf({}), "m.example.org:7600");
  EXPECT_EQ(options_.scope.organization, "acme");
  EXPECT_EQ(options_.scope.cluster, "it's");
  EXPECT_EQ(RunLine({"config", "use-context", "lab"}), kDone);
  EXPECT_EQ(ServerOf({}), "lab:1");
  EXPECT_EQ(options_.scope.organization, "acme") << "the standard";
  EXPECT_EQ(options_.scope.cluster, "example");
  EXPECT_EQ(RunLine({"config", "delete-context", "lab"}), kDone);
  EXPECT_EQ(ServerOf({}), "127.0.0.1:7600");
  EXPECT_EQ(RunLine({"config", "use-context", "lab"}), kFailed);
  EXPECT_EQ(RunLine({"config", "delete-context", "lab"}), kFailed);
  EXPECT_EQ(RunLine({"config"}), kWrongUse);
}

TEST_F(ContextsTest, FlagsCountMostThenTheNamedContextThenTheEnvironmentThenTheCurrent) {
  ASSERT_EQ(RunLine({"config", "set-context", "one", "--server=one:1"}), kDone) << err();
  ASSERT_EQ(RunLine({"config", "set-context", "two", "--server=two:2"}), kDone);
  EXPECT_EQ(ServerOf({}), "one:1");
  environment_["MUSTER_CONTEXT"] = "two";
  EXPECT_EQ(ServerOf({}), "two:2");
  environment_["MUSTER_SERVER"] = "env:3";
  EXPECT_EQ(ServerOf({}), "env:3");
  // Who chooses one is told, lest another's pools be deleted.
  EXPECT_EQ(RunLine({"config", "use-context", "one"}), kDone);
  EXPECT_EQ(out(), "context one is used from now on\n");
  EXPECT_EQ(err(),
            "note: MUSTER_CONTEXT is set, and counts more than it; --context=one counts more than "
            "both\n"
            "note: MUSTER_SERVER is set, and counts more than it; --context=one counts more than "
            "both\n");
  environment_["MUSTER_CLUSTER"] = "c";
  EXPECT_EQ(RunLine({"config", "use-context", "two"}), kDone);
  EXPECT_THAT(err(), Not(HasSubstr("MUSTER_CONTEXT"))) << "it says the same";
  EXPECT_THAT(err(), Not(HasSubstr("MUSTER_CLUSTER"))) << "of which the context says nothing";
  EXPECT_EQ(ServerOf({"--context=one"}), "one:1");
  EXPECT_EQ(ServerOf({"--context=one", "--server=flag:4"}), "flag:4");
}

// A context of a token and one of a certificate; nobody reads files in /nowhere.
class CredentialsOfContextsTest : public ContextsTest {
 protected:
  CredentialsOfContextsTest() {
    authority_.Issue("me", "subjectAltName=URI:spiffe://muster.test/me");
    std::ofstream(authority_.Path("token")) << "abc\n";
  }

  std::string OfToken(const std::string& name, const std::string& token) const {
    return absl::StrCat("- {name: ", name,
                        ", server: 's:1', certificateAuthority: ", authority_.authority(),
                        ", tokenFile: ", token, "}\n");
  }
  std::string OfCertificate(const std::string& name, const std::string& certificate,
                            const std::string& key) const {
    return absl::StrCat("- {name: ", name,
                        ", server: 's:1', certificateAuthority: ", authority_.authority(),
                        ", clientCertificate: ", certificate, ", clientKey: ", key, "}\n");
  }
  void WriteAll(const std::string& current, const std::string& contexts) {
    mkdir(folder_.Path("a").c_str(), 0700);
    Write(absl::StrCat("currentContext: ", current, "\ncontexts:\n", contexts));
  }
  // Whether these can be used, and are not plain text.
  bool AreGood(std::vector<std::string> args) {
    options_.credentials = nullptr;
    args.insert(args.end(), {"auth", "whoami"});
    return RunLine(args) == kDone && options_.credentials != nullptr;
  }

  testing::Authority authority_;
};

TEST_F(CredentialsOfContextsTest, TheNamedContextsCountMoreThanTheEnvironmentsOtherKind) {
  WriteAll("cert", OfToken("token", authority_.Path("token")) +
                       OfCertificate("cert", authority_.certificate("me"), authority_.key("me")));
  environment_["MUSTER_CLIENT_CERTIFICATE"] = "/nowhere/me.crt";
  environment_["MUSTER_CLIENT_KEY"] = "/nowhere/me.key";
  EXPECT_TRUE(AreGood({"--context=token"})) << err();
  environment_.erase("MUSTER_CLIENT_CERTIFICATE");
  EXPECT_TRUE(AreGood({"--context=token"})) << err() << ": a key is of a certificate";
  environment_.erase("MUSTER_CLIENT_KEY");
  environment_["MUSTER_TOKEN_FILE"] = "/nowhere/token";
  EXPECT_TRUE(AreGood({"--context=cert"})) << err();
  EXPECT_FALSE(AreGood({})) << "of the current one the environment counts more";
  EXPECT_THAT(err(), HasSubstr("--token-file: /nowhere/token cannot be read"));
}

TEST_F(CredentialsOfContextsTest, TheEnvironmentsCountMoreThanTheCurrentContextsOtherKind) {
  const std::string contexts =
      OfToken("token", "/nowhere/token") + OfCertificate("cert", "/nowhere/c", "/nowhere/k");
  WriteAll("cert", contexts);
  environment_["MUSTER_TOKEN_FILE"] = authority_.Path("token");
  EXPECT_TRUE(AreGood({})) << err();
  environment_.erase("MUSTER_TOKEN_FILE");
  WriteAll("token", contexts);
  environment_["MUSTER_CLIENT_CERTIFICATE"] = authority_.certificate("me");
  environment_["MUSTER_CLIENT_KEY"] = authority_.key("me");
  EXPECT_TRUE(AreGood({})) << err();
  environment_["MUSTER_CONTEXT"] = "token";
  EXPECT_TRUE(AreGood({})) << err() << ": the environment's own";
}

TEST_F(CredentialsOfContextsTest, SettingTheOneKindTakesBackTheOther) {
  const std::vector<std::string> set = {"config", "set-context", "lab"};
  const std::string token = "--token-file=" + authority_.Path("token");
  const std::string certificate = "--client-certificate=" + authority_.certificate("me");
  const std::string key = "--client-key=" + authority_.key("me");
  const auto set_by = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> line = set;
    line.insert(line.end(), flags.begin(), flags.end());
    return RunLine(line);
  };
  ASSERT_EQ(set_by({"--server=s:1", "--certificate-authority=" + authority_.authority(),
                    certificate, key}),
            kDone)
      << err();
  EXPECT_TRUE(AreGood({})) << err();
  EXPECT_EQ(set_by({token}), kDone) << err();
  EXPECT_TRUE(AreGood({})) << err();
  EXPECT_EQ(RunLine({"config", "get-contexts"}), kDone);
  EXPECT_THAT(out(), Not(HasSubstr("me.crt"))) << "nor any other file of a certificate";
  EXPECT_THAT(out(), HasSubstr(authority_.Path("token"))) << "who asks is shown by it";
  EXPECT_EQ(set_by({certificate, key}), kDone) << err();
  EXPECT_TRUE(AreGood({})) << err();
  EXPECT_EQ(set_by({token, certificate, key}), kWrongUse);
  EXPECT_THAT(err(), HasSubstr("either --token-file or a certificate and its key"));
  EXPECT_TRUE(AreGood({})) << err();
  EXPECT_EQ(set_by({token, "--client-certificate=", "--client-key="}), kDone) << err();
  EXPECT_TRUE(AreGood({})) << err();
}

TEST_F(CredentialsOfContextsTest, BothOfOneAreRefused) {
  WriteAll("both", absl::StrCat("- {name: both, clientKey: /nowhere/k, tokenFile: ",
                                authority_.Path("token"), "}\n- {name: none}\n"));
  EXPECT_FALSE(AreGood({"--context=both"}));
  EXPECT_THAT(err(), HasSubstr("--token-file: is given beside a certificate"));
  environment_["MUSTER_TOKEN_FILE"] = authority_.Path("token");
  environment_["MUSTER_CLIENT_KEY"] = "/nowhere/k";
  EXPECT_FALSE(AreGood({"--context=none"}));
  EXPECT_THAT(err(), HasSubstr("--token-file: is given beside a certificate"));
}

TEST_F(ContextsTest, AnOrderOfOperatorsGoesToTheirListener) {
  ASSERT_EQ(RunLine({"config", "set-context", "one", "--server=one:1", "--operator-server=one:3"}),
            kDone);
  EXPECT_EQ(RunLine({"debug", "log-level"}), kDone);
  EXPECT_EQ(options_.server, "one:3");
}

TEST_F(ContextsTest, SettingChangesOnlyWhatIsSaid) {
  ASSERT_EQ(RunLine({"config", "set-context", "one", "--server=one:1", "--cluster=c"}), kDone);
  ASSERT_EQ(RunLine({"config", "set-context", "one", "--server=two:2"}), kDone);
  EXPECT_EQ(ServerOf({}), "two:2");
  EXPECT_EQ(options_.scope.cluster, "c");
  ASSERT_EQ(RunLine({"config", "set-context", "one", "--cluster="}), kDone);
  EXPECT_EQ(ServerOf({}), "two:2");
  EXPECT_EQ(options_.scope.cluster, "example");
}

// As by jobs that share a home.
TEST_F(ContextsTest, ThoseSetAtTheSameTimeAreAllKept) {
  constexpr int kJobs = 16;
  const auto set = [this](int job) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    ProcessEnv env{.in = in,
                   .out = out,
                   .err = err,
                   .environment = [this](const std::string& name) -> std::optional<std::string> {
                     if (name != "MUSTER_CONFIG") return std::nullopt;
                     return path_;
                   },
                   .connect = [](const ApiOptions&) { return std::make_shared<FakeApi>(); },
                   .clock = clock_,
                   .steady = steady_};
    const std::vector<std::string> line = {"config", "set-context", absl::StrCat("c", job),
                                           "--server=s:1"};
    EXPECT_EQ(musterctl::Run(line, env), kDone) << err.str();
  };
  std::vector<std::thread> jobs;
  for (int job = 0; job < kJobs; ++job) jobs.emplace_back(set, job);
  for (std::thread& job : jobs) job.join();
  EXPECT_EQ(client::ReadContexts(path_)->all.size(), size_t{kJobs});
}

TEST_F(ContextsTest, TheFileIsItsOwnersAlone) {
  ASSERT_EQ(RunLine({"config", "set-context", "one", "--server=one:1"}), kDone);
  struct stat file = {};
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
}

TEST_F(ContextsTest, FilesAreMeantFromWhereTheConfigurationIs) {
  mkdir(folder_.Path("a").c_str(), 0700);
  Write("currentContext: one\ncontexts:\n- {name: one, certificateAuthority: ca.crt}\n");
  const auto contexts = client::ReadContexts(path_);
  ASSERT_TRUE(contexts.ok()) << contexts.status();
  EXPECT_EQ(contexts->all.at(0).values.at("certificateAuthority"), folder_.Path("a/ca.crt"));
  EXPECT_EQ(RunLine({"auth", "whoami"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("--client-certificate: is required"));
  EXPECT_EQ(RunLine({"config", "get-contexts"}), kDone) << "needs none of them";
}

TEST_F(ContextsTest, SaysWhatIsWrongWithTheFile) {
  mkdir(folder_.Path("a").c_str(), 0700);
  for (const auto& [text, says] :
       {std::pair("contexts: [", "line"), std::pair("[]", "it is one map"),
        std::pair("more: 1", "it has currentContext, and contexts"),
        std::pair("contexts: 1", "a list"), std::pair("contexts: [1]", "a context is a map"),
        std::pair("contexts: [{server: a}]", "needs a name"),
        std::pair("contexts:\n- {name: a, token: x}",
                  "line 2: unknown \"token\"; allowed are name, server"),
        std::pair("contexts: [{name: a, server: [x]}]", "is a word"),
        std::pair("contexts: [{name: a}, {name: a}]", "is there twice"),
        std::pair("currentContext: b\ncontexts: [{name: a}]", "there is no context \"b\"")}) {
    Write(text);
    EXPECT_EQ(RunLine({"auth", "whoami"}), kWrongUse) << text;
    EXPECT_THAT(err(), HasSubstr(says)) << text;
    EXPECT_THAT(err(), HasSubstr(path_)) << text;
  }
}

// Root may enter every folder, so here the file cannot be looked for for another reason.
TEST_F(ContextsTest, AFileThatCannotBeLookedForIsNotTakenForNone) {
  mkdir(folder_.Path("a").c_str(), 0700);
  ASSERT_EQ(symlink("config.yaml", path_.c_str()), 0);
  EXPECT_EQ(RunLine({"auth", "whoami"}), kWrongUse) << "would go to " << options_.server;
  EXPECT_THAT(err(), HasSubstr(absl::StrCat("error: ", path_, ": ")));
  EXPECT_EQ(RunLine({"config", "set-context", "one", "--server=one:1"}), kFailed);
  environment_["MUSTER_CONFIG"] = "/dev/null/config.yaml";
  EXPECT_EQ(ServerOf({}), "127.0.0.1:7600") << "there can be none";
}

TEST_F(ContextsTest, DeletingTheCurrentOneTellsWhatIsCalledFromNowOn) {
  ASSERT_EQ(RunLine({"config", "set-context", "one", "--server=one:1"}), kDone);
  ASSERT_EQ(RunLine({"config", "set-context", "two", "--server=two:2"}), kDone);
  EXPECT_EQ(RunLine({"config", "delete-context", "two"}), kDone);
  EXPECT_EQ(err(), "");
  EXPECT_EQ(RunLine({"config", "delete-context", "one"}), kDone);
  EXPECT_EQ(out(), "context one is deleted\n");
  EXPECT_EQ(err(),
            "note: it was the current one; without a context 127.0.0.1:7600 is called, see "
            "musterctl config use-context\n");
}

TEST_F(ContextsTest, WithoutAHomeThereAreNone) {
  environment_.clear();
  EXPECT_EQ(ServerOf({}), "127.0.0.1:7600");
  EXPECT_EQ(RunLine({"config", "set-context", "one", "--server=one:1"}), kFailed);
  EXPECT_THAT(err(), HasSubstr("neither MUSTER_CONFIG nor HOME"));
  environment_["HOME"] = folder_.path();
  EXPECT_EQ(RunLine({"config", "set-context", "one", "--server=one:1"}), kDone);
  EXPECT_THAT(out(), HasSubstr(absl::StrCat(" in ", folder_.Path(".config/muster/config.yaml\n"))));
  environment_["XDG_CONFIG_HOME"] = folder_.Path("xdg");
  EXPECT_EQ(RunLine({"config", "get-contexts"}), kDone);
  EXPECT_THAT(out(), HasSubstr("No contexts."));
}

}  // namespace
}  // namespace muster::musterctl
