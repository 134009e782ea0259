/* text_file.h -- a whole file as one string, and back. */
#ifndef GPU_TEXT_FILE_H
#define GPU_TEXT_FILE_H

#include <stdbool.h>

/* Zero-terminated; the caller frees it. NULL when it cannot be read (a failure is kept). */
char *text_file_read(const char *path);
bool text_file_write(const char *path, const char *text);

#endif
