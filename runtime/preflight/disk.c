/* disk.c -- see disk.h. statvfs knows no quotas, and some file systems copy a folder that is
 * renamed, or refuse: so both are tried. */
#include "runtime/preflight/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/plan/plan_job.h"
#include "runtime/preflight/line.h"
#include "runtime/process/folder.h"
#include "runtime/process/text.h"

enum { TRIED_PATH_BYTES = 4200, TOOL_S = 5 };

static void say(Disk *disk, const char *what, const char *folder) {
  (void)snprintf(disk->why, sizeof disk->why, "%s in %.120s: %s%s", what, folder, strerror(errno),
                 errno == EDQUOT ? " (the quota of this user or project)" : "");
}

/* A checkpoint gets its name by the rename of its folder. */
static void try_rename(const char *folder, Disk *disk) {
  char from[TRIED_PATH_BYTES], to[TRIED_PATH_BYTES + 8], file[TRIED_PATH_BYTES + 16];
  (void)snprintf(from, sizeof from, "%.4000s/.preflight.XXXXXX", folder);
  if (mkdtemp(from) == NULL) {
    say(disk, "no folder can be made", folder);
    return;
  }
  (void)snprintf(to, sizeof to, "%s.to", from);
  (void)snprintf(file, sizeof file, "%s/file", from);
  int made = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (made < 0) say(disk, "no file can be made", folder);
  if (made >= 0) (void)close(made);
  if (made >= 0 && rename(from, to) != 0)
    say(disk, "a folder cannot be renamed, so no checkpoint could get its name", folder);
  (void)unlink(file);
  (void)rmdir(from);
  (void)snprintf(file, sizeof file, "%s/file", to);
  (void)unlink(file);
  (void)rmdir(to);
}

/* Room for the largest part: a quota is noticed here, before the first save. */
static void try_room(const char *folder, int64_t bytes, Disk *disk) {
  char path[TRIED_PATH_BYTES], size[QUANTITY_BYTES], what[128];
  (void)snprintf(path, sizeof path, "%.4000s/.preflight.XXXXXX", folder);
  int file = mkostemp(path, O_CLOEXEC);
  if (file < 0) {
    say(disk, "no file can be made", folder);
    return;
  }
  (void)unlink(path);
  if (fallocate(file, 0, 0, bytes) != 0 && (errno == EDQUOT || errno == EFBIG)) {
    (void)snprintf(what, sizeof what, "a part of %s has no room", text_bytes(size, (double)bytes));
    say(disk, what, folder);
  }
  (void)close(file);
}

bool disk_totals(const Plan *plan, PartTotals *totals) {
  State state;
  Status status;
  *totals = (PartTotals){0};
  bool is_counted = state_open(&state, plan, &status) && part_totals(&state, totals);
  state_close(&state);
  return is_counted;
}

/* Whole checkpoints that new ones replace; above `keep` a further one changes nothing, and each
 * costs a look at all its parts. */
static int64_t count_replaced(const Plan *plan, const char *folder) {
  const int64_t most = job_checkpoint_keep(plan);
  const PlanSetting *milestone = plan_setting(plan, "checkpoint.milestone");
  int64_t every = milestone != NULL ? (int64_t)milestone->real : 0, count = 0;
  char path[CHECKPOINT_PATH_BYTES];
  DIR *list = opendir(folder);
  for (struct dirent *item; list && count < most && (item = readdir(list));) {
    int64_t step = checkpoint_step_of(item->d_name, NULL);
    if (step < 0 || (every > 0 && step % every == 0)) continue;
    checkpoint_path(path, folder, step);
    count += checkpoint_is_whole(path);
  }
  if (list) (void)closedir(list);
  return count;
}

void disk_look(const Plan *plan, Disk *disk) {
  const char *folder = job_checkpoint_dir(plan);
  struct statvfs room;
  struct statfs kind;
  Status ignored = {0};
  PartTotals totals;
  bool saves = job_checkpoint_every_steps(plan) > 0 || job_checkpoint_every_s(plan) > 0;
  *disk = (Disk){.free_bytes = -1};
  if (!folder_make(folder, &ignored)) return;
  if (statvfs(folder, &room) == 0)
    disk->free_bytes = (int64_t)((uint64_t)room.f_bavail * room.f_frsize);
  disk->saved = count_replaced(plan, folder);
  disk->in_memory = statfs(folder, &kind) == 0 && kind.f_type == TMPFS_MAGIC;
  if (!saves || disk->free_bytes < 0) return;
  try_rename(folder, disk);
  if (disk->why[0] == '\0' && disk_totals(plan, &totals) && totals.largest_bytes > 0 &&
      totals.largest_bytes <= disk->free_bytes)
    try_room(folder, totals.largest_bytes, disk);
  for (char *p = disk->why; *p; p++)
    if (*p == '\n') *p = ' ';
}

static const char line_head[] = "checkpoints in_memory=";

void disk_print(const Disk *disk, FILE *out) {
  fprintf(out, "%s%d why=%s\n", line_head, disk->in_memory, disk->why);
}

bool disk_read_line(const char *line, Disk *disk) {
  if (strncmp(line, line_head, sizeof line_head - 1) != 0) return false;
  disk->in_memory = number_of(line, "in_memory=") > 0;
  rest_of(line, " why=", disk->why, sizeof disk->why);
  return true;
}

/* ---- Lustre */

/* The child's, which ends here. */
static void run_tool(const char *folder, int out) {
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  (void)alarm(TOOL_S); /* a file system that hangs takes the tool along */
  if (dup2(out, STDOUT_FILENO) >= 0 && dup2(nothing, STDERR_FILENO) >= 0)
    (void)execlp("lfs", "lfs", "getstripe", "-d", "-c", folder, (char *)NULL);
  _exit(127);
}

int32_t disk_stripes(const char *folder) {
  int ends[2], state = 0;
  char text[64] = "";
  if (pipe2(ends, O_CLOEXEC) != 0) return 0;
  pid_t child = fork();
  if (child == 0) run_tool(folder, ends[1]);
  (void)close(ends[1]);
  ssize_t got = child > 0 ? read(ends[0], text, sizeof text - 1) : 0;
  (void)close(ends[0]);
  if (child > 0) (void)waitpid(child, &state, 0);
  bool is_good = child > 0 && got > 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0;
  return is_good ? (int32_t)strtol(text, NULL, 10) : 0;
}
