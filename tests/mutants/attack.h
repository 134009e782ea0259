/* attack.h -- plans that are wrong on purpose: files that say, line by line, what is changed in a
 * plan, and what a refusal must name.
 *
 *   attack TITLE               begins one; the lines below belong to it. # begins a comment
 *   on STRATEGY                the plan of strategies.h; or
 *   job MODEL DEVICES PARALLEL MORE   another one, as strategies.h has them; words.u8 and others.u8
 *                              are beside it, tokens below 64; or
 *   sample MODEL DEVICES PARALLEL   the plan that draws tokens of three texts
 *
 *   take WHICH                 the records that the next lines change. WHICH: [every | N] KIND
 *                              [in SEGMENT] [of PATH] [for PURPOSE], patterns; KIND is a kernel or
 *                              a communication; the first one, the N-th (from 0), or every one
 *   kernel NAME                computes this; `become NAME`: it was no kernel
 *   attr NAME = * + NUMBER     as `dim NAME ...`; of the record's kernel
 *   attrs NUMBER...            all of them; as `dims NUMBER...`
 *   slots NAME...              its control slots, used as its kernel's row says, else read
 *   vary NAME NUMBER COMM      an attr differs by so much a member; `vary NAME none`
 *   key of WHICH               the random numbers of another record; `key + NUMBER`
 *   accumulate 0 | 1
 *   comm NAME                  another communicator
 *   lane NAME                  another lane; the record waits for nothing then
 *   reduce sum | max
 *   drop                       never runs
 *   when FLAG | unless FLAG | always
 *   operand I as J [of WHICH]  is where operand J does, of this or of another record of the
 *                              segment; the record joins none then
 *   operand I + BYTES          begins further on; `operand I stride BYTES`: from member to member;
 *                              `operand I size BYTES`, in a base that grows with it
 *   operand I first            of a row of pieces the first one, on all ranks; `operand I row`: all
 *                              of it; `operand I by COMM`: pieces of another communicator's members
 *   operand I piece COMM       each member has one piece of it; `operand I dtype DTYPE`: as many
 *                              numbers of another kind
 *   purpose PURPOSE            gets another purpose
 *   operands I...              these only, in this order
 *   access I read | write | update
 *   as WHICH                   does what another record does, on its own operands
 *   twice                      a copy runs right after it, which later lines leave as it is
 *   layout I as J [of WHICH]   gets the layout of operand J, of this or of another record
 *
 *   call CALLS                 the calls that the next lines change. CALLS: [every | N] SEGMENT
 *                              [layer L] [microbatch M]
 *   binding I as J [of CALLS]  base I points where J does, of this or of another call
 *   bindings of CALLS          all of them
 *   swap with CALLS            changes places with another call; what places wait for stays
 *   waits none                 it waits for no other call
 *   segment NAME               runs another segment, with as many bases
 *   layer = + NUMBER           as `microbatch ...`
 *   post I FIELD NUMBER        what a transfer says of its operand I: depth or microbatch grows
 *
 *   divides AXIS WHAT          samples, tokens ...
 *   set FIELD NUMBER           of the job: batch_samples, accumulation, microbatch_samples ...; or
 *                              as much as another field is
 *   buffer NAME KIND           the first buffer of that name gets another kind
 *   file NUMBER as NUMBER      its samples are read from another of the plan's files
 *   input NAME role ROLE       is filled with something else; `vocab`, `sample_elements`: = +
 *   dim_of VALUE I = * + NUMBER   values of that name (a pattern) have another size of dim I, and
 * so have what holds them; `dim_of VALUE I real = NUMBER`: its size without padding; `dim_of VALUE
 * I name NAME`. "d NAME": of the parameter's gradient node N OP PATH + NUMBER    the N-th such
 * node, and records of it, draw other random numbers parameter A key of B       begins with the
 * same random numbers tensor A name of B         the two change their names, and so their places in
 * checkpoints
 *
 *   named WORD...              one finding of the refusal has all of these words
 *   says "TEXT"                and this is how people read it; several lines are one text
 *
 * Words with spaces are in double quotes. */
#ifndef LOCKSTEP_TESTS_ATTACK_H
#define LOCKSTEP_TESTS_ATTACK_H

#include "tests/mutants/strategies.h"
#include "tests/unit/plan_builder.h"

enum { ATTACK_LINES_MAX = 32, ATTACK_WORDS_MAX = 24 };

typedef struct AttackLine {
  int number; /* in the file, from 1 */
  int word_count;
  char *word[ATTACK_WORDS_MAX];
} AttackLine;

typedef struct Attack {
  const char *path;
  char *title;
  Strategy job;
  int line_count, named_count, says_count; /* says_count 0: any text will do */
  AttackLine line[ATTACK_LINES_MAX];
  char *named[ATTACK_WORDS_MAX], *says[ATTACK_LINES_MAX];
} Attack;

/* Takes the next attack off *rest, which is changed and lives as long as the attack. False: there
 * is none. A file that is wrong ends the program with its place. */
bool attack_read(const char *path, char **rest, int *line, Attack *attack);

/* Changes the plan. A line that finds nothing ends the program with its place. */
void attack_apply(const Attack *attack, PlanBuilder *plan);

/* For both: "attacks/ring:12: WHAT" and exit. */
_Noreturn void attack_wrong(const Attack *attack, int line, const char *what);

#endif
