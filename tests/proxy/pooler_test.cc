// Debian's pgbouncer between musterd and PostgreSQL: deploy/high-availability.md.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/integration/child.h"
#include "tests/testing/patience.h"
#include "tests/testing/reserved_port.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/test_database.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

class PoolerTest : public ::testing::Test {
 protected:
  // `ignored`: what pgbouncer is to take no notice of, of what a client says at its start.
  void StartPooler(const std::string& ignored) {
    const std::string folder = database_.QueryValue("SHOW unix_socket_directories");
    std::ofstream users(folder_.Path("users.txt"));
    for (const char* service : {"quota", "capacity", "lifecycle", "configuration"})
      users << "\"muster_" << service << "\" \"\"\n";
    users.close();
    std::ofstream conf(folder_.Path("pgbouncer.ini"));
    conf << "[databases]\n"
         << database_.name() << " = host=" << folder << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
         << "listen_port = " << port_.number() << "\nunix_socket_dir =\nauth_type = trust\n"
         << "auth_file = " << folder_.Path("users.txt") << "\npool_mode = session\n"
         << "ignore_startup_parameters = extra_float_digits" << ignored << "\n";
    conf.close();
    std::vector<std::string> command = {"/usr/sbin/pgbouncer", folder_.Path("pgbouncer.ini")};
    if (geteuid() == 0) {  // as whom it refuses to run
      chmod(folder_.path().c_str(), 0755);
      command.insert(command.begin(), {"/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres",
                                       "--init-groups", "--"});
    }
    pooler_ = std::make_unique<Child>(command, log_.Path("pgbouncer.log"));
    Until([&] { return log_.Text("pgbouncer.log").find("process up") != std::string::npos; },
          "pgbouncer");
  }

  Finished Serve() const {
    return RunProgram({Binary("musterd"), "serve", "--services=quota", "--listen=127.0.0.1:0",
                       absl::StrCat("--migrations_dir=", MigrationsDir()),
                       absl::StrCat("--db_conninfo=host=127.0.0.1 port=", port_.number(),
                                    " dbname=", database_.name())});
  }

  TestDatabase database_;
  ReservedPort port_;
  TempFolder folder_;
  TempFolder log_;
  std::unique_ptr<Child> pooler_;
};

TEST_F(PoolerTest, ThatRefusesWhatAServerSaysAtItsStartIsNamed) {
  StartPooler("");
  const Finished run = Serve();
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.output, HasSubstr("unsupported startup parameter"));
}

// The sessions' timeouts would be gone without a word.
TEST_F(PoolerTest, ThatTakesNoNoticeOfItIsRefusedByTheServer) {
  StartPooler(",options");
  const Finished run = Serve();
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.output, HasSubstr("a pooler such as pgbouncer is in between"));
}

}  // namespace
}  // namespace muster::testing
