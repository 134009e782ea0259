/* shell.h -- words of a shell command and their values: launchers, a program, options. */
#ifndef LOCKSTEP_SHELL_H
#define LOCKSTEP_SHELL_H

#include "compiler/job/import/import.h"

/* Text of a word from `from` on, up to the next piece, is written at `at`. */
typedef struct ShellPiece {
  size_t from;
  Span at;
  bool is_unread; /* it is known only when the script runs */
} ShellPiece;

typedef struct ShellPieces {
  ShellPiece *at;
  int32_t count, capacity;
} ShellPieces;

typedef struct ShellWord {
  const char *text;
  Span at;
  bool is_unread; /* a piece is, or the word is too long */
  ShellPieces pieces;
} ShellWord;

typedef struct ShellWords {
  ShellWord *at;
  int32_t count, capacity;
} ShellWords;

/* Leaves of the options of a command that starts training; of another command one that is unread.
 * (command.c) */
bool command_leaves(Import *im, const ShellWords *words);

#endif
