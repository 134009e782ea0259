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
static bool close_file(NewFile *file, bool is_good, char why[TOKENS_WHY_BYTES]) {
  is_good = is_good && fflush(file->out) == 0 && fsync(fileno(file->out)) == 0;
  int failure = errno;
  if (fclose(file->out) != 0 && is_good) is_good = false, failure = errno;
  return is_good || refuse(why, file->path, strerror(failure));
}

/* Files of one call: all are whole before the first one gets its name. */
typedef struct NewFiles {
  NewFile file[3];
  int32_t count;
} NewFiles;

static NewFile *add_file(NewFiles *files, const char *folder, const char *name,
                         char why[TOKENS_WHY_BYTES]) {
  NewFile *file = &files->file[files->count];
  if (!begin_file(file, folder, name, why)) return NULL;
  files->count++;
  return file;
}

static bool rename_all(NewFiles *files, bool is_good, char why[TOKENS_WHY_BYTES]) {
  int failure = errno; /* kept, because callers may ask which failure made them remove the files */
  for (int32_t i = 0; i < files->count; i++) {
    if (is_good && rename(files->file[i].temporary, files->file[i].path) != 0)
      is_good = refuse(why, files->file[i].path, strerror(failure = errno));
    if (!is_good) (void)unlink(files->file[i].temporary);
  }
  errno = failure;
  return is_good;
}

static bool add_bytes(NewFiles *files, const char *folder, const char *name, const uint8_t *bytes,
                      int64_t count, char why[TOKENS_WHY_BYTES]) {
  NewFile *file = add_file(files, folder, name, why);
  return file && close_file(file, fwrite(bytes, 1, (size_t)count, file->out) == (size_t)count, why);
}

static bool add_documents(NewFiles *files, const char *folder, const char *name,
                          const TokDocuments *all, int64_t first, int64_t last,
                          char why[TOKENS_WHY_BYTES]) {
  NewFile *file = add_file(files, folder, name, why);
  return file && close_file(file, tok_write(file->out, all, first, last), why);
}

/* A copy of a file, unless it is that file. */
static bool add_copy(NewFiles *files, const char *folder, const char *name, const char *from,
                     char why[TOKENS_WHY_BYTES]) {
  TokenFile bytes;
  char path[PATH_BYTES];
  struct stat old, new;
  (void)snprintf(path, sizeof path, "%.4000s/%s", folder, name);
  if (stat(path, &old) == 0 && stat(from, &new) == 0 && old.st_ino == new.st_ino &&
      old.st_dev == new.st_dev)
    return true;
  if (!tokens_open_bytes(&bytes, from, why)) return false;
  bool is_good = add_bytes(files, folder, name, bytes.ids, bytes.count, why);
  tokens_close(&bytes);
  return is_good;
}

/* Without a hold-out an older file's content would now be in the training data. */
static bool remove_old(const char *folder, const char *name, char why[TOKENS_WHY_BYTES]) {
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  if (unlink(path) == 0 || errno == ENOENT) return true;
  return refuse(why, path, strerror(errno));
}

/* True if the folder's tokenizer.json is the copy beside its train.tok: it does not decode ids that
 * another tokenizer, or none, has made. */
static bool has_own_copy(const char *folder) {
  char path[PATH_BYTES], why[TOKENS_WHY_BYTES];
  uint64_t hash = 0;
  TokenFile old = {0};
  (void)snprintf(path, sizeof path, "%.4000s/train.tok", folder);
  const bool is_read = access(path, R_OK) == 0 && tokens_open(&old, path, FORMAT_TOK, why);
  const uint64_t tokenizer = is_read ? old.tokenizer : 0;
  tokens_close(&old);
  (void)snprintf(path, sizeof path, "%.4000s/tokenizer.json", folder);
  return tokenizer != 0 && tokens_hash_file(path, &hash) && hash == tokenizer;
}

/* Makes the folder and its parents. */
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
  NewFiles files = {0};
  bool made = make_folder(folder, why) &&
              add_bytes(&files, folder, "train.u8", text.ids, written->train_tokens, why) &&
              (valid == 0 ||
               add_bytes(&files, folder, "valid.u8", text.ids + written->train_tokens, valid, why));
  made = rename_all(&files, made, why) && (valid > 0 || remove_old(folder, "valid.u8", why));
  tokens_close(&text);
  return made;
}

/* The first document that is held out. */
static int64_t first_held_out(const TokDocuments *all, double hold_out) {
  int64_t tokens = all->start[all->count], wanted = (int64_t)((double)tokens * hold_out);
  int64_t first = all->count;
  while (first > 1 && tokens - all->start[first - 1] <= wanted)
    first--;
  if (wanted > 0 && first == all->count && all->count > 1) first--;
  return first;
}

bool tokens_write_documents(const TokDocuments *all, const char *folder, double hold_out,
                            const char *tokenizer_json, TokensWritten *written,
                            char why[TOKENS_WHY_BYTES]) {
  if (!check_share(folder, hold_out, why)) return false;
  NewFiles files = {0};
  const int64_t first = first_held_out(all, hold_out);
  const bool has_valid = first < all->count;
  *written = (TokensWritten){all->start[first], all->start[all->count] - all->start[first]};
  const bool is_old = !tokenizer_json && has_own_copy(folder);
  bool made =
      make_folder(folder, why) && add_documents(&files, folder, "train.tok", all, 0, first, why) &&
      (!has_valid || add_documents(&files, folder, "valid.tok", all, first, all->count, why)) &&
      (!tokenizer_json || add_copy(&files, folder, "tokenizer.json", tokenizer_json, why));
  return rename_all(&files, made, why) && (has_valid || remove_old(folder, "valid.tok", why)) &&
         (!is_old || remove_old(folder, "tokenizer.json", why));
}
