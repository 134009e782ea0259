/* apart_nodes.c -- loaded into the ranks of a test: each rank is a node with a memory apart. What
 * ranks keep below /dev/shm is in APART_NODES/RANK instead, and /dev/shm is another device on each.
 * In a Slurm of several nodes on one machine the node is Slurm's: APART_NODES/NAME.
 * APART_FREE is how many bytes are free there. APART_BREAK is "RANK HOW CALL COUNT GLOB[;...]", of
 * that rank's COUNT-th call on a copy: fail  it fails (EIO), and is not done kill  the process is
 * killed (SIGKILL) before it, when APART_NODES/GLOB is there; with ! before GLOB, when it is not */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };
static const char memory[] = "/dev/shm";
static const char kept[] = "/dev/shm/lockstep-";
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static const char *own_rank(void) {
  const char *rank = getenv("PMIX_RANK");
  return getenv("APART_NODES") != NULL ? rank : NULL;
}

static const char *own_node(void) {
  const char *node = getenv("SLURMD_NODENAME");
  return node != NULL ? node : own_rank();
}

static int is_kept(const char *path) {
  if (own_rank() == NULL || strncmp(path, kept, sizeof kept - 1) != 0) return 0;
  return path[sizeof kept - 1] >= '0' && path[sizeof kept - 1] <= '9'; /* of a user */
}

/* The path of it on this node. */
static const char *apart(const char *path, char to[PATH_BYTES]) {
  if (!is_kept(path)) return path;
  (void)snprintf(to, PATH_BYTES, "%s/%s%s", getenv("APART_NODES"), own_node(),
                 path + sizeof memory - 1);
  return to;
}

static void await_glob(const char *path) {
  char pattern[PATH_BYTES];
  const int is_there = path[0] != '!';
  (void)snprintf(pattern, sizeof pattern, "%s/%s", getenv("APART_NODES"), path + !is_there);
  for (int i = 0; i < 3000; i++) { /* 30 seconds */
    glob_t found;
    const int has_found = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    if (has_found == is_there) return;
    (void)nanosleep(&(struct timespec){0, 10000000L}, NULL);
  }
}

/* True if the call is to fail. */
static int is_broken(const char *call, const char *at) {
  static atomic_int mkdirs, renames, rmdirs;
  const char *how = getenv("APART_BREAK");
  if (how == NULL || !is_kept(at) || strstr(at, "/step_") == NULL) return 0;
  atomic_int *calls = call[0] == 'm' ? &mkdirs : call[1] == 'e' ? &renames : &rmdirs;
  const int number = atomic_fetch_add(calls, 1) + 1;
  for (; how != NULL; how = strchr(how, ';'), how += how != NULL) {
    char rank[16], act[16], name[16], path[256] = "";
    int count = 0;
    const int words = sscanf(how, "%15s %15s %15s %d %255[^;]", rank, act, name, &count, path);
    if (words < 4 || count != number || strcmp(rank, own_rank()) != 0 || strcmp(name, call) != 0)
      continue;
    if (strcmp(act, "fail") == 0) {
      errno = EIO;
      return 1;
    }
    await_glob(path);
    (void)kill(getpid(), SIGKILL);
  }
  return 0;
}

int mkdir(const char *path, mode_t mode) {
  char to[PATH_BYTES];
  return is_broken("mkdir", path) ? -1 : NEXT(mkdir)(apart(path, to), mode);
}

int rename(const char *from, const char *to) {
  char a[PATH_BYTES], b[PATH_BYTES];
  return is_broken("rename", from) ? -1 : NEXT(rename)(apart(from, a), apart(to, b));
}

int rmdir(const char *path) {
  char to[PATH_BYTES];
  return is_broken("rmdir", path) ? -1 : NEXT(rmdir)(apart(path, to));
}

DIR *opendir(const char *path) {
  char to[PATH_BYTES];
  return NEXT(opendir)(apart(path, to));
}

int open(const char *path, int flags, ...) {
  char to[PATH_BYTES];
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return NEXT(open)(apart(path, to), flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  char to[PATH_BYTES];
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return NEXT(openat)(folder, apart(path, to), flags, mode);
}

int lstat(const char *path, struct stat *about) {
  char to[PATH_BYTES];
  return NEXT(lstat)(apart(path, to), about);
}

int stat(const char *path, struct stat *about) {
  const int ended = NEXT(stat)(path, about);
  if (own_rank() == NULL || strcmp(path, memory) != 0) return ended;
  for (const char *at = own_node(); *at != '\0'; at++)
    about->st_dev = about->st_dev * 31 + (dev_t)*at;
  return ended;
}

int statvfs(const char *path, struct statvfs *room) {
  char to[PATH_BYTES];
  const char *bytes = getenv("APART_FREE");
  const int ended = NEXT(statvfs)(apart(path, to), room);
  if (ended == 0 && bytes != NULL && is_kept(path))
    room->f_bavail = (fsblkcnt_t)atoll(bytes) / room->f_frsize;
  return ended;
}

int access(const char *path, int mode) {
  char to[PATH_BYTES];
  return NEXT(access)(apart(path, to), mode);
}
