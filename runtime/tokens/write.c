/* write.c -- text to bytes, with the end of the text held out for validation. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/tokens/tokens.h"

enum { PATH_BYTES = 4096 };

static bool refuse(char why[TOKENS_WHY_BYTES], const char *path, const char *what) {
  (void)snprintf(why, TOKENS_WHY_BYTES, "%.160s: %s", path, what);
  return false;
}

static bool write_all(int descriptor, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = write(descriptor, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    count -= (size_t)written;
  }
  return true;
}

static bool write_file(const char *folder, const char *name, const uint8_t *bytes, int64_t count,
                       char why[TOKENS_WHY_BYTES]) {
  char path[PATH_BYTES], temporary[PATH_BYTES];
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  if (length < 0 || length + 5 > PATH_BYTES) return refuse(why, folder, "path is too long");
  (void)snprintf(temporary, sizeof temporary, "%.*s.new", PATH_BYTES - 8, path);
  int descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return refuse(why, temporary, strerror(errno));
  bool written = write_all(descriptor, bytes, (size_t)count) && fsync(descriptor) == 0;
  int failure = errno;
  written = close(descriptor) == 0 && written;
  if (written && rename(temporary, path) == 0) return true;
  if (written) failure = errno;
  (void)unlink(temporary);
  return refuse(why, path, strerror(failure));
}

/* Without a hold-out, removes an older valid.u8, whose text would now be in the training data. */
static bool write_or_remove_valid(const char *folder, const uint8_t *bytes, int64_t count,
                                  char why[TOKENS_WHY_BYTES]) {
  if (count > 0) return write_file(folder, "valid.u8", bytes, count, why);
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/valid.u8", folder);
  if (unlink(path) == 0 || errno == ENOENT) return true;
  return refuse(why, path, strerror(errno));
}

/* Makes the folder and those above it. */
static bool make_folder(const char *folder, char why[TOKENS_WHY_BYTES]) {
  char part[PATH_BYTES];
  size_t length = strlen(folder);
  if (length >= sizeof part) return refuse(why, folder, "path is too long");
  for (size_t i = 1; i <= length; i++) {
    if (folder[i] != '/' && folder[i] != 0) continue;
    memcpy(part, folder, i);
    part[i] = 0;
    if (mkdir(part, 0777) != 0 && errno != EEXIST) return refuse(why, part, strerror(errno));
  }
  return true;
}

bool tokens_write_bytes(const char *text_path, const char *folder, double hold_out,
                        TokensWritten *written, char why[TOKENS_WHY_BYTES]) {
  if (!(hold_out >= 0.0 && hold_out < 1.0))
    return refuse(why, folder, "the share held out must be at least 0 and below 1");
  TokenFile text;
  if (!tokens_open_bytes(&text, text_path, why)) return false;
  int64_t valid = (int64_t)((double)text.count * hold_out);
  *written = (TokensWritten){text.count - valid, valid};
  bool made = make_folder(folder, why) &&
              write_file(folder, "train.u8", text.ids, written->train_tokens, why);
  made = made && write_or_remove_valid(folder, text.ids + written->train_tokens, valid, why);
  tokens_close(&text);
  return made;
}
