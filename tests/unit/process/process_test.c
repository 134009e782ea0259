/* The calls of a process to the system: the lock of a folder, streams, mapped files. Each case
 * happens in a child.
 * LINK: process */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/process/lock.h"
#include "runtime/process/process.h"
#include "tests/unit/check.h"

enum { FILE_BYTES = 1 << 16 };

static char folder[64];

static const char *in_folder(const char *name) {
  static char path[128];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(in_folder(name), "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void read_file(const char *name, char *text, size_t text_bytes) {
  FILE *file = fopen(in_folder(name), "r");
  size_t length = file ? fread(text, 1, text_bytes - 1, file) : 0;
  text[length] = 0;
  if (file) (void)fclose(file);
}

/* A child that holds the lock until it is killed. */
static pid_t hold_elsewhere(void) {
  int ready[2];
  CHECK_INT(pipe2(ready, 0), 0);
  pid_t child = fork();
  if (child == 0) {
    Lock lock;
    char why[LOCK_WHY_BYTES];
    bool taken = lock_take(&lock, folder, why) == LOCK_TAKEN;
    ssize_t ignored = write(ready[1], taken ? "y" : "n", 1);
    (void)ignored;
    while (true)
      (void)pause();
  }
  char answer = 0;
  CHECK_INT(read(ready[0], &answer, 1), 1);
  CHECK(answer == 'y');
  (void)close(ready[0]), (void)close(ready[1]);
  return child;
}

static void end(pid_t child) {
  CHECK_INT(kill(child, SIGKILL), 0);
  CHECK_INT(waitpid(child, NULL, 0), child);
}

static void test_lock(void) {
  Lock lock;
  char why[LOCK_WHY_BYTES] = "", host[256] = "", wanted[300], record[512];
  (void)gethostname(host, sizeof host - 1);
  TEST("a folder in use is refused with process and host of its user") {
    pid_t child = hold_elsewhere();
    CHECK(lock_take(&lock, folder, why) == LOCK_HELD);
    CHECK_INT(lock.descriptor, -1);
    (void)snprintf(wanted, sizeof wanted, "process %d on %s since 20", (int)child, host);
    CHECK(strstr(why, wanted) && strstr(why, folder) && strstr(why, "log.dir"));
    CHECK(!strchr(why, '\n'));
    end(child);
  }
  TEST("the lock of a process that was killed is free") {
    CHECK(lock_take(&lock, folder, why) == LOCK_TAKEN);
    read_file("lock", record, sizeof record);
    (void)snprintf(wanted, sizeof wanted, "process %d on ", (int)getpid());
    CHECK(strstr(record, wanted));
  }
  TEST("a process may take again what it holds, and what it gives back says nobody") {
    Lock again;
    CHECK(lock_take(&again, folder, why) == LOCK_TAKEN);
    lock_give_back(&again);
    lock_give_back(&lock);
    lock_give_back(&lock);
    read_file("lock", record, sizeof record);
    CHECK_TEXT(record, "");
    pid_t child = hold_elsewhere();
    end(child);
  }
  TEST("a folder that cannot be written is no conflict") {
    CHECK(lock_take(&lock, in_folder("nowhere"), why) == LOCK_FAILED);
    CHECK(strstr(why, "nowhere/lock: cannot be written: No such file"));
  }
}

/* Where the kernel's lock says nothing, the text of the file decides. */
static void test_record(void) {
  char record[512];
  TEST("a holder of this host is believed only when it is alive and one of ours") {
    (void)snprintf(record, sizeof record, "process 1 on here since 2026-01-01 00:00:00 UTC\n");
    CHECK(!lock_holder_lives(record, "here")); /* init */
    CHECK(!lock_holder_lives("process 999999999 on here since x\n", "here"));
    CHECK(!lock_holder_lives("", "here") && !lock_holder_lives("what is this\n", "here"));
  }
  TEST("a holder of another host is believed") {
    CHECK(lock_holder_lives("process 1 on there since x\n", "here"));
  }
  TEST("mounts that keep locks to this host are known by their options") {
    write_file("mounts", "disk / ext4 rw 0 0\n"
                         "server:/a /a nfs4 rw,vers=4.2,local_lock=none 0 0\n"
                         "server:/b /b nfs rw,local_lock=posix 0 0\n"
                         "server:/c /c nfs rw,nolock 0 0\n"
                         "mgs:/d /d lustre rw,localflock 0 0\n"
                         "disk2 /d/own ext4 rw 0 0\n");
    const char *mounts = in_folder("mounts");
    CHECK(!lock_is_of_host(mounts, "/home/x") && !lock_is_of_host(mounts, "/a/runs"));
    CHECK(lock_is_of_host(mounts, "/b/runs") && lock_is_of_host(mounts, "/c"));
    CHECK(lock_is_of_host(mounts, "/d/runs") && !lock_is_of_host(mounts, "/d/own/runs"));
    CHECK(!lock_is_of_host(mounts, "/bb"));
  }
}

/* Runs `body` in a child whose stderr is the file "said"; returns how it ended, as waitpid says. */
static int in_child(void body(void), char *said, size_t said_bytes) {
  pid_t child = fork();
  if (child == 0) {
    int out = open(in_folder("said"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    (void)dup2(out, STDERR_FILENO);
    body();
    _exit(77);
  }
  int state = 0;
  CHECK_INT(waitpid(child, &state, 0), child);
  read_file("said", said, said_bytes);
  return state;
}

static volatile char *map_and_cut(void) {
  int descriptor = open(in_folder("tokens.u8"), O_RDWR | O_CREAT | O_TRUNC, 0666);
  if (ftruncate(descriptor, FILE_BYTES) != 0) _exit(1);
  volatile char *bytes = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (ftruncate(descriptor, 100) != 0) _exit(1);
  return bytes;
}

static void read_past_the_end(void) {
  process_prepare("a-program");
  volatile char *bytes = map_and_cut();
  (void)bytes[20000];
}

static void raise_without_file(void) {
  process_prepare("a-program");
  (void)raise(SIGBUS);
}

static void write_to_nobody(void) {
  process_prepare("a-program");
  int ends[2];
  if (pipe2(ends, 0) != 0) _exit(1);
  (void)close(ends[0]);
  _exit(write(ends[1], "x", 1) < 0 && errno == EPIPE ? 5 : 1);
}

static void open_with_closed_streams(void) {
  (void)close(0), (void)close(1), (void)close(2);
  process_prepare("a-program");
  int descriptor = open(in_folder("said"), O_RDONLY);
  bool written = write(STDOUT_FILENO, "x", 1) == 1 && write(STDERR_FILENO, "x", 1) == 1;
  _exit(descriptor > 2 && written ? 5 : 1);
}

static void test_process(void) {
  static char said[4096];
  TEST("a file that is cut short while it is mapped is named, and the process ends with 2") {
    int state = in_child(read_past_the_end, said, sizeof said);
    CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 2);
    CHECK(strncmp(said, "a-program: /", 12) == 0 && strstr(said, in_folder("tokens.u8")));
    CHECK(strstr(said, "was cut short to 100 bytes") && strstr(said, "byte 20000 is needed"));
    CHECK(strchr(said, '\n') && strchr(said, '\n')[1] == 0);
  }
  TEST("another bus error stays what it is") {
    int state = in_child(raise_without_file, said, sizeof said);
    CHECK(!strstr(said, "cut short") && (!WIFEXITED(state) || WEXITSTATUS(state) != 2));
  }
  TEST("a reader that has gone is an error of write, not the end") {
    int state = in_child(write_to_nobody, said, sizeof said);
    CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 5);
  }
  TEST("no file gets the number of a closed stream") {
    int state = in_child(open_with_closed_streams, said, sizeof said);
    CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 5);
  }
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_process_%d", (int)getpid());
  CHECK_INT(mkdir(folder, 0777), 0);
  test_lock();
  test_record();
  test_process();
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
  CHECK_DONE();
}
