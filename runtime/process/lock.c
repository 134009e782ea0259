/* lock.c -- a POSIX record lock on a file that names its holder. */
#include "runtime/process/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, HOST_BYTES = 256, RECORD_BYTES = 512 };

typedef struct Holder {
  long pid;
  char host[HOST_BYTES];
  char since[64];
} Holder;

static bool parse_holder(const char *record, Holder *holder) {
  static const char start[] = "process ";
  if (strncmp(record, start, sizeof start - 1) != 0) return false;
  char *rest;
  holder->pid = strtol(record + sizeof start - 1, &rest, 10);
  return holder->pid > 0 &&
         sscanf(rest, " on %255s since %63[^\n]", holder->host, holder->since) == 2;
}

/* Pids are reused: a process that is not one of ours is not the holder. */
static bool is_lockstep(long pid) {
  char path[64], name[32] = "";
  (void)snprintf(path, sizeof path, "/proc/%ld/comm", pid);
  FILE *file = fopen(path, "r");
  if (!file) return kill((pid_t)pid, 0) == 0 || errno == EPERM;
  size_t got = fread(name, 1, sizeof name - 1, file);
  (void)fclose(file);
  return got > 0 && strncmp(name, "lockstep", 8) == 0;
}

bool lock_holder_lives(const char *record, const char *host) {
  Holder holder;
  if (!parse_holder(record, &holder)) return false;
  if (strcmp(holder.host, host) != 0) return true;
  return holder.pid != (long)getpid() && is_lockstep(holder.pid);
}

bool lock_is_of_host(const char *mounts, const char *folder) {
  FILE *table = setmntent(mounts, "r");
  size_t longest = 0;
  bool is_of_host = false;
  for (struct mntent *mount; table && (mount = getmntent(table));) {
    size_t length = strlen(mount->mnt_dir);
    bool is_root = length == 1;
    bool is_above = strncmp(folder, mount->mnt_dir, length) == 0 &&
                    (is_root || folder[length] == '/' || folder[length] == 0);
    if (!is_above || length < longest) continue;
    longest = length;
    const char *nfs = hasmntopt(mount, "local_lock");
    is_of_host = hasmntopt(mount, "nolock") || hasmntopt(mount, "localflock") ||
                 (nfs && strncmp(nfs, "local_lock=none", 15) != 0);
  }
  if (table) (void)endmntent(table);
  return is_of_host;
}

static void read_record(int descriptor, char record[RECORD_BYTES]) {
  ssize_t got = pread(descriptor, record, RECORD_BYTES - 1, 0);
  record[got > 0 ? got : 0] = 0;
}

/* On a full disk the holder's name is lost, but not the lock. */
static void write_record(int descriptor, const char *host) {
  char record[RECORD_BYTES], since[64];
  struct tm now;
  time_t seconds = time(NULL);
  (void)strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&seconds, &now));
  int length =
      snprintf(record, sizeof record, "process %ld on %s since %s\n", (long)getpid(), host, since);
  if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, record, (size_t)length, 0) != length)
    return;
}

static LockResult say_held(const char *folder, const char *record, bool is_certain,
                           char why[LOCK_WHY_BYTES]) {
  Holder holder;
  char who[400] = "another run";
  if (parse_holder(record, &holder))
    (void)snprintf(who, sizeof who, "process %ld on %s since %s", holder.pid, holder.host,
                   holder.since);
  int used = snprintf(why, LOCK_WHY_BYTES,
                      "%.160s: is in use by %.200s. Wait for that run or stop it, or give this "
                      "one another folder (log.dir, checkpoint.path)",
                      folder, who);
  if (!is_certain && used > 0 && used < LOCK_WHY_BYTES)
    (void)snprintf(why + used, (size_t)(LOCK_WHY_BYTES - used),
                   "; if it is gone, remove the file 'lock' there");
  return LOCK_HELD;
}

/* True if a lock granted by the kernel also excludes other hosts. */
static bool reaches_all(const char *folder) {
  char full[PATH_BYTES];
  return !realpath(folder, full) || !lock_is_of_host("/proc/self/mounts", full);
}

LockResult lock_take(Lock *lock, const char *folder, char why[LOCK_WHY_BYTES]) {
  char path[PATH_BYTES], host[HOST_BYTES] = "?", record[RECORD_BYTES];
  (void)snprintf(path, sizeof path, "%.4000s/lock", folder);
  (void)gethostname(host, sizeof host - 1);
  /* Not closed on exec, because closing releases the lock. */
  lock->descriptor = open(path, O_RDWR | O_CREAT, 0666);
  if (lock->descriptor < 0) {
    (void)snprintf(why, LOCK_WHY_BYTES, "%.300s: cannot be written: %s", path, strerror(errno));
    return LOCK_FAILED;
  }
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  bool granted = fcntl(lock->descriptor, F_SETLK, &whole) == 0;
  bool held = !granted && (errno == EAGAIN || errno == EACCES);
  read_record(lock->descriptor, record);
  bool is_believed = !held && (!granted || !reaches_all(folder));
  if (held || (is_believed && lock_holder_lives(record, host))) {
    (void)close(lock->descriptor);
    lock->descriptor = -1;
    return say_held(folder, record, held, why);
  }
  write_record(lock->descriptor, host);
  return LOCK_TAKEN;
}

void lock_give_back(Lock *lock) {
  if (lock->descriptor < 0) return;
  (void)!ftruncate(lock->descriptor, 0);
  (void)close(lock->descriptor);
  lock->descriptor = -1;
}
