#include "daemon/control/listener.hpp"

#include "shared/control_socket.hpp"
#include "tests/unit/control_fixture.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace overlap {
namespace {

namespace fs = std::filesystem;
using testing::says;

class ListenerTest : public ::testing::Test {
 protected:
  testing::SocketFolder folder_;
  std::string path_ = folder_.path("overlapd.sock");
  std::string lock_path_ = path_ + ".lock";

  /// Why there is no listener; empty if there is one.
  [[nodiscard]] static std::string refusal(const std::string& path) {
    try {
      const Listener sut(path, 0660);
    } catch (const ListenerError& error) {
      return error.what();
    }
    return {};
  }

  [[nodiscard]] static bool answers(Listener& sut) {
    int error_number = 0;
    const auto client = connect_control_socket(sut.path(), error_number);
    return client && sut.accept().socket;
  }

  /// What a killed daemon leaves: a socket that refuses connections.
  void leave_stale_socket() { static_cast<void>(testing::listen_at(path_, SOCK_SEQPACKET)); }

  [[nodiscard]] static ino_t inode(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
  }
};

TEST_F(ListenerTest, TakesConnections) {
  Listener sut(path_, 0660);
  EXPECT_EQ(sut.path(), path_);
  EXPECT_FALSE(sut.accept().socket);
  int error_number = 0;
  const auto first = connect_control_socket(path_, error_number);
  const auto second = connect_control_socket(path_, error_number);
  EXPECT_TRUE(sut.accept().socket);
  EXPECT_TRUE(sut.accept().socket);
  const auto none = sut.accept();
  EXPECT_FALSE(none.socket);
  EXPECT_EQ(none.error_number, 0);
}

TEST_F(ListenerTest, SaysWhenItWantsDescriptors) {
  Listener sut(path_, 0660);
  int error_number = 0;
  const auto client = connect_control_socket(path_, error_number);
  {
    const testing::DescriptorLimit none_left(0);
    const auto refused = sut.accept();
    EXPECT_FALSE(refused.socket);
    EXPECT_EQ(refused.error_number, EMFILE);
  }
  EXPECT_TRUE(sut.accept().socket);
}

TEST_F(ListenerTest, LeavesNothingBehind) {
  { const Listener sut(path_, 0660); }
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_FALSE(fs::exists(lock_path_));
}

TEST_F(ListenerTest, ReplacesAStaleSocket) {
  leave_stale_socket();
  const ino_t old = inode(path_);
  ASSERT_NE(old, 0U);
  Listener sut(path_, 0660);
  EXPECT_TRUE(answers(sut));
}

TEST_F(ListenerTest, StartsOverEachLeftoverAlone) {
  for (const bool socket : {false, true}) {
    for (const bool lock : {false, true}) {
      if (socket) {
        leave_stale_socket();
      }
      if (lock) {
        std::ofstream(lock_path_) << "";
      }
      Listener sut(path_, 0660);
      EXPECT_TRUE(answers(sut)) << socket << lock;
    }
  }
}

TEST_F(ListenerTest, RefusesALiveDaemonsSocketAndLeavesItAlone) {
  Listener live(path_, 0660);
  const ino_t before = inode(path_);
  EXPECT_TRUE(says(refusal(path_), {path_, "in use by a live daemon", "stop it", "--socket"}));
  EXPECT_EQ(inode(path_), before);
  EXPECT_TRUE(answers(live));
  EXPECT_TRUE(fs::exists(lock_path_));
}

TEST_F(ListenerTest, RefusesALiveDaemonsSocketWhoseLockFileWasDeleted) {
  Listener live(path_, 0660);
  fs::remove(lock_path_);
  EXPECT_TRUE(says(refusal(path_), {"in use by a live daemon"}));
  static_cast<void>(live.accept());
  EXPECT_TRUE(answers(live));
}

TEST_F(ListenerTest, StartsWhereALiveDaemonsSocketWasDeletedOnlyOnceThatHasGone) {
  auto live = std::make_unique<Listener>(path_, 0660);
  fs::remove(path_);
  EXPECT_TRUE(says(refusal(path_), {"in use by a live daemon"}));
  live.reset();
  Listener sut(path_, 0660);
  EXPECT_TRUE(answers(sut));
}

TEST_F(ListenerTest, RefusesASocketWhoseQueueIsFull) {
  const auto live = testing::listen_at(path_, SOCK_SEQPACKET);
  ASSERT_EQ(::listen(live.get(), 0), 0);
  std::vector<FileDescriptor> waiting;
  int error_number = 0;
  while (error_number == 0) {
    waiting.push_back(connect_control_socket(path_, error_number));
  }
  ASSERT_EQ(error_number, EAGAIN);
  const ino_t before = inode(path_);
  EXPECT_TRUE(says(refusal(path_), {"in use by a live daemon"}));
  EXPECT_EQ(inode(path_), before);
}

TEST_F(ListenerTest, RefusesASocketOfAnotherProgram) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    FileDescriptor other(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    if (type == SOCK_STREAM) {
      ASSERT_EQ(::listen(other.get(), 1), 0);
    }
    const ino_t before = inode(path_);
    EXPECT_TRUE(says(refusal(path_), {path_, "belongs to another program", "--socket"}));
    EXPECT_EQ(inode(path_), before);
    ::unlink(path_.c_str());
  }
}

TEST_F(ListenerTest, RefusesAFileAndKeepsWhatIsInIt) {
  std::ofstream(path_) << "dear diary";
  EXPECT_TRUE(says(refusal(path_), {path_, "is no socket", "move it away", "--socket"}));
  std::string text;
  std::getline(std::ifstream(path_), text);
  EXPECT_EQ(text, "dear diary");
}

TEST_F(ListenerTest, RefusesAFolderALinkAndAPipeAndDeletesNoneOfThem) {
  const std::string folder = folder_.path("folder");
  fs::create_directory(folder);
  std::ofstream(folder + "/inside") << "x";
  const std::string link = folder_.path("link");
  fs::create_symlink("/etc/passwd", link);
  const std::string dangling = folder_.path("dangling");
  fs::create_symlink(folder_.path("nowhere"), dangling);
  const std::string pipe = folder_.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto passwd_bytes = fs::file_size("/etc/passwd");
  for (const std::string& path : {folder, link, dangling, pipe}) {
    const ino_t before = inode(path);
    EXPECT_TRUE(says(refusal(path), {path, "is no socket"}));
    EXPECT_EQ(inode(path), before) << path;
  }
  EXPECT_TRUE(fs::exists(folder + "/inside"));
  EXPECT_FALSE(fs::exists(folder_.path("nowhere")));
  EXPECT_EQ(fs::file_size("/etc/passwd"), passwd_bytes);
}

TEST_F(ListenerTest, RefusesALinkToALiveSocketToo) {
  Listener live(path_, 0660);
  const std::string link = folder_.path("link");
  fs::create_symlink(path_, link);
  EXPECT_TRUE(says(refusal(link), {"is no socket"}));
  EXPECT_TRUE(answers(live));
}

TEST_F(ListenerTest, LeavesNoLockFileWhereItIsRefused) {
  std::ofstream(path_) << "in the way";
  EXPECT_FALSE(refusal(path_).empty());
  EXPECT_FALSE(fs::exists(lock_path_));
}

TEST_F(ListenerTest, FollowsNoLinkWhereTheLockFileBelongs) {
  fs::create_symlink("/etc/passwd", lock_path_);
  EXPECT_TRUE(says(refusal(path_), {lock_path_, "cannot open the lock file"}));
  EXPECT_TRUE(fs::is_symlink(lock_path_));
}

TEST_F(ListenerTest, RefusesAPathThatFitsNoAddress) {
  EXPECT_TRUE(says(refusal(""), {"0 bytes", "1 to 107", "--socket"}));
  const std::string longest = folder_.path(std::string(107 - folder_.path("").size(), 'x'));
  ASSERT_EQ(longest.size(), 107U);
  EXPECT_EQ(refusal(longest), "");
  EXPECT_TRUE(says(refusal(longest + "x"), {"108 bytes", "choose a shorter one"}));
}

TEST_F(ListenerTest, SaysWhatToDoWhereTheFolderIsMissingOrIsNone) {
  EXPECT_TRUE(says(refusal(folder_.path("missing/overlapd.sock")),
                   {"missing/overlapd.sock", "No such file or directory", "--socket"}));
  std::ofstream(folder_.path("file")) << "x";
  EXPECT_TRUE(says(refusal(folder_.path("file/overlapd.sock")), {"Not a directory", "--socket"}));
}

TEST_F(ListenerTest, SaysWhatToDoWhereTheFolderMayNotBeWritten) {
  fs::permissions(fs::path(path_).parent_path(), fs::perms(0555));
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Root may write everywhere.
    if (::geteuid() == 0 && ::setuid(65534) != 0) {
      ::_exit(2);
    }
    const std::string text = refusal(path_);
    ::_exit(::write(writer.get(), text.data(), text.size()) > 0 ? 0 : 1);
  }
  writer.reset();
  char text[1024] = {};
  EXPECT_GT(::read(reader.get(), text, sizeof text - 1), 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(says(text, {"Permission denied", "folder that this user may write", "--socket"}));
  fs::permissions(fs::path(path_).parent_path(), fs::perms(0700));
}

TEST_F(ListenerTest, HasTheModeAskedForWhateverTheUmask) {
  for (const mode_t mask : {0077U, 0027U, 0000U}) {
    for (const mode_t mode : {0660U, 0600U, 0666U}) {
      const mode_t before = ::umask(mask);
      const Listener sut(path_, mode);
      const mode_t after = ::umask(before);
      EXPECT_EQ(after, mask) << "the umask belongs to every thread";
      struct stat status {};
      ASSERT_EQ(::lstat(path_.c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 07777U, mode) << std::oct << mask;
      ASSERT_EQ(::lstat(lock_path_.c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 0077U, 0U) << std::oct << mask;
    }
  }
}

TEST_F(ListenerTest, LeavesNothingToTheWorldToWrite) {
  const mode_t before = ::umask(0);
  const Listener sut(path_, 0660);
  ::umask(before);
  for (const auto& entry : fs::directory_iterator(fs::path(path_).parent_path())) {
    EXPECT_EQ(entry.status().permissions() & fs::perms::others_write, fs::perms::none)
        << entry.path();
  }
}

TEST_F(ListenerTest, LeavesASocketThatSomebodyElsePutInItsPlace) {
  auto sut = std::make_unique<Listener>(path_, 0660);
  fs::remove(path_);
  const auto other = testing::listen_at(path_, SOCK_SEQPACKET);
  sut.reset();
  EXPECT_TRUE(fs::exists(path_));
  int error_number = 0;
  EXPECT_TRUE(connect_control_socket(path_, error_number));
}

TEST_F(ListenerTest, IsClosedInProgramsThatTheDaemonStarts) {
  const Listener sut(path_, 0660);
  EXPECT_NE(::fcntl(sut.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(ListenerTest, WinsOnceWhenManyStartAtTheSameTime) {
  constexpr int kRivals = 8;
  constexpr int kRounds = 40;
  std::atomic<int> winners{0};
  std::atomic<int> working{0};
  std::barrier start(kRivals);
  std::vector<std::thread> rivals;
  rivals.reserve(kRivals);
  for (int i = 0; i < kRivals; ++i) {
    rivals.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        if (i == 0) {
          leave_stale_socket();
        }
        start.arrive_and_wait();
        std::unique_ptr<Listener> sut;
        try {
          sut = std::make_unique<Listener>(path_, 0660);
          ++winners;
        } catch (const ListenerError&) {
        }
        start.arrive_and_wait();
        working += sut && answers(*sut) ? 1 : 0;
        sut.reset();
        start.arrive_and_wait();
      }
    });
  }
  for (std::thread& rival : rivals) {
    rival.join();
  }
  EXPECT_EQ(winners, kRounds);
  EXPECT_EQ(working, kRounds);
}

TEST_F(ListenerTest, IsNeverTakenWhileItLivesHoweverOftenItGoesAndComes) {
  constexpr int kWins = 200;
  std::atomic<int> alive{0};
  std::atomic<int> wins{0};
  std::atomic<int> faults{0};
  std::vector<std::thread> rivals;
  rivals.reserve(4);
  for (int i = 0; i < 4; ++i) {
    rivals.emplace_back([&] {
      while (wins < kWins) {
        try {
          Listener sut(path_, 0660);
          faults += alive.fetch_add(1) != 0 ? 1 : 0;
          faults += answers(sut) ? 0 : 1;
          ++wins;
          --alive;
        } catch (const ListenerError&) {
        }
      }
    });
  }
  for (std::thread& rival : rivals) {
    rival.join();
  }
  EXPECT_EQ(faults, 0);
  EXPECT_FALSE(fs::exists(path_));
}

}  // namespace
}  // namespace overlap
