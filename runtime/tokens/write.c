/* write.c -- files of tokens, with the end of the text, or the last documents, held out for
 * validation. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/tokens/tok.h"

enum { PATH_BYTES = 4096 };

static bool refuse(char why[TOKENS_WHY_BYTES], const char *path, const char *what) {
  (void)snprintf(why, TOKENS_WHY_BYTES, "%.160s: %s", path, what);
  return false;
}

/* A file that is written beside its name and renamed when it is whole. */
typedef struct NewFile {
  char path[PATH_BYTES], temporary[PATH_BYTES];
  FILE *out;
} NewFile;

static bool begin_file(NewFile *file, const char *folder, const char *name,
                       char why[TOKENS_WHY_BYTES]) {
  int length = snprintf(file->path, PATH_BYTES, "%s/%s", folder, name);
  if (length < 0 || length + 5 > PATH_BYTES) return refuse(why, folder, "path is too long");
  (void)snprintf(file->temporary, PATH_BYTES, "%.*s.new", PATH_BYTES - 8, file->path);
  file->out = fopen(file->temporary, "wbe");
  return file->out != NULL || refuse(why, file->temporary, strerror(errno));
}

/* is_good: everything was written; else errno has the reason. */
static bool end_file(NewFile *file, bool is_good, char why[TOKENS_WHY_BYTES]) {
  is_good = is_good && fflush(file->out) == 0 && fsync(fileno(file->out)) == 0;
  int failure = errno;
  if (fclose(file->out) != 0 && is_good) is_good = false, failure = errno;
  if (is_good && rename(file->temporary, file->path) == 0) return true;
  if (is_good) failure = errno;
  (void)unlink(file->temporary);
  return refuse(why, file->path, strerror(failure));
}

static bool write_bytes(const char *folder, const char *name, const uint8_t *bytes, int64_t count,
                        char why[TOKENS_WHY_BYTES]) {
  NewFile file;
  return begin_file(&file, folder, name, why) &&
         end_file(&file, fwrite(bytes, 1, (size_t)count, file.out) == (size_t)count, why);
}

static bool write_documents(const char *folder, const char *name, const TokDocuments *all,
                            int64_t first, int64_t last, char why[TOKENS_WHY_BYTES]) {
  NewFile file;
  return begin_file(&file, folder, name, why) &&
         end_file(&file, tok_write(file.out, all, first, last), why);
}

/* Without a hold-out an older file's content would now be in the training data. */
static bool remove_old(const char *folder, const char *name, char why[TOKENS_WHY_BYTES]) {
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
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

static bool check_share(const char *folder, double hold_out, char why[TOKENS_WHY_BYTES]) {
  return (hold_out >= 0.0 && hold_out < 1.0) ||
         refuse(why, folder, "the share held out must be at least 0 and below 1");
}

bool tokens_write_bytes(const char *text_path, const char *folder, double hold_out,
                        TokensWritten *written, char why[TOKENS_WHY_BYTES]) {
  TokenFile text;
  if (!check_share(folder, hold_out, why) || !tokens_open_bytes(&text, text_path, why))
    return false;
  int64_t valid = (int64_t)((double)text.count * hold_out);
  *written = (TokensWritten){text.count - valid, valid};
  bool made = make_folder(folder, why) &&
              write_bytes(folder, "train.u8", text.ids, written->train_tokens, why);
  made = made &&
         (valid > 0 ? write_bytes(folder, "valid.u8", text.ids + written->train_tokens, valid, why)
                    : remove_old(folder, "valid.u8", why));
  tokens_close(&text);
  return made;
}

bool tokens_write_documents(const TokDocuments *all, const char *folder, double hold_out,
                            TokensWritten *written, char why[TOKENS_WHY_BYTES]) {
  if (!check_share(folder, hold_out, why)) return false;
  int64_t tokens = all->start[all->count], wanted = (int64_t)((double)tokens * hold_out);
  int64_t first = all->count; /* of the documents held out */
  while (first > 1 && tokens - all->start[first - 1] <= wanted)
    first--;
  if (wanted > 0 && first == all->count && all->count > 1) first--;
  *written = (TokensWritten){all->start[first], tokens - all->start[first]};
  if (!make_folder(folder, why) || !write_documents(folder, "train.tok", all, 0, first, why))
    return false;
  return first < all->count ? write_documents(folder, "valid.tok", all, first, all->count, why)
                            : remove_old(folder, "valid.tok", why);
}
