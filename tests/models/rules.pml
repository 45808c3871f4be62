/*
 * Several routers with other rules on one ledger: what waits for a paused rule is decided for all of
 * them, by whoever has the rules in force. Nobody who has older ones undoes it.
 *
 * A mutant takes the rule away (-DIN_FORCE=0).
 */
#ifndef IN_FORCE   /* what is one for all goes by the rules that are in force */
#define IN_FORCE 1
#endif

#define NODES 3
#define VERSIONS 4

byte in_force = 1;              /* the version of the rules, that was put in force last */
byte held_by = 1;               /* whose rules decided last what waits */

active [NODES] proctype node() {
  byte rules = 1;
  do
  :: /* newer ones are given to a node: it reloads, and they are in force */
     atomic { in_force < VERSIONS && rules == in_force -> in_force++; rules = in_force }
  :: /* a deployment gives them to the others, sooner or later */
     atomic { rules != in_force -> rules = in_force }
  :: /* the node starts anew with the file that it had, which puts nothing in force */
     atomic { rules > 1 -> rules = 1 }
  :: /* what waits is decided, within one transaction with the question whose rules are in force */
     atomic { (!IN_FORCE || rules == in_force) -> assert(rules >= held_by); held_by = rules }
  :: held_by == VERSIONS -> break
  od
}
