/*
 * Several routers on one ledger: two nodes, one delivery with two jobs of one target whose limit is
 * one at a time. Every step on the ledger is a transaction, so it is
 * atomic here; its answer may be lost. A node may be killed, or be slow, at any moment.
 *
 * A mutant takes one rule away (-DRULE=0): each must then be violated.
 */
#ifndef FENCE      /* an attempt's end is written by the holder of its lease alone */
#define FENCE 1
#endif
#ifndef DEDUPE     /* the unique key decides, within the transaction */
#define DEDUPE 1
#endif
#ifndef FIRST      /* a 2xx is sent after the commit */
#define FIRST 1
#endif
#ifndef HAND_ON    /* a share is handed on after its holder has given it back, or no longer goes by it */
#define HAND_ON 1
#endif
#ifndef DEAD_COUNT /* what a dead node was running counts until it is reclaimed */
#define DEAD_COUNT 1
#endif
#ifndef SHARE      /* nothing is started without a live share */
#define SHARE 1
#endif

#define NODES 2
#define BOOTS 4    /* numbers given to boots, from 1 */
#define JOBS 2
#define LEASES 4

/* the ledger */
byte deliveries = 0;
bool known = false;             /* the dedupe key */
byte state[JOBS];               /* 0 not there, 1 available, 3 running, 5 ended */
byte holder[JOBS];              /* the boot that runs it */
byte fence[JOBS];               /* its lease */
byte ends[JOBS];                /* attempts that completed it */
byte leases = 1;
byte boots = NODES + 1;
bool gone[BOOTS + 1];
byte share = 0;                 /* the boot that holds the one share of the limit */

/* what nobody can ask for: what each boot believes and does */
bool live[BOOTS + 1];           /* it goes by its share */
bool runs[BOOTS + 1];           /* its action is under way */

bool answered = false;

inline starts(me) {             /* beside an action that runs, unless its node was declared gone: that is the documented overlap */
  k = 1;
  do
  :: k > BOOTS -> break
  :: else ->
     assert(k == me || !runs[k] || gone[k]);
     k++
  od;
  k = 0;
  runs[me] = true
}

inline reclaim(boot) {
  lost = boot;
  k = 0;
  do
  :: k == JOBS -> break
  :: else ->
     if
     :: state[k] == 3 && holder[k] == lost -> state[k] = 1; holder[k] = 0
     :: else -> skip
     fi;
     k++
  od;
  k = 0; lost = 0
}

active [NODES] proctype node() {
  byte me = _pid + 1, doing = _pid + 1, under, job, k, lost;

  do
  :: /* accept: the sender sends again until it is answered, to any node */
     atomic { !answered && FIRST ->
       if
       :: DEDUPE && known -> skip
       :: else -> known = true; deliveries++; assert(deliveries <= 1); state[0] = 1; state[1] = 1
       fi;
       if
       :: answered = true; assert(deliveries >= 1)
       :: skip                  /* the answer is lost */
       fi
     }
  :: atomic { !FIRST && !answered -> answered = true; assert(deliveries >= 1) }

  :: /* a share of the limit, when nobody has it */
     atomic { share == 0 && !gone[me] && !live[me] -> share = me; live[me] = true }
  :: /* given back */
     atomic { share == me && live[me] && under == 0 -> live[me] = false; share = 0 }
  :: /* the node was slow: its share has ended by its own clock, which is the earlier one */
     atomic { live[me] -> live[me] = false }
  :: /* the leader hands a share on */
     atomic {
       (share != 0 && share != me && (!HAND_ON || !live[share]) &&
        (!DEAD_COUNT || ((state[0] != 3 || holder[0] != share) && (state[1] != 3 || holder[1] != share)))) ->
       share = 0 }

  :: /* lease, and start; the answer may be lost, then nobody runs it */
     atomic { under == 0 && (live[me] || !SHARE) && !gone[me] && leases < LEASES && (state[0] == 1 || state[1] == 1) ->
       if
       :: state[0] == 1 -> job = 0
       :: state[1] == 1 -> job = 1
       fi;
       state[job] = 3; holder[job] = me; fence[job] = leases;
       if
       :: under = leases; doing = me; starts(me)
       :: skip
       fi;
       leases++ }
  :: /* the action ends */
     atomic { runs[doing] -> runs[doing] = false }
  :: /* settle; when the answer is lost, again */
     atomic { !runs[doing] && under != 0 ->
       if
       :: (FENCE && state[job] == 3 && holder[job] == doing && fence[job] == under) || (!FENCE && state[job] != 1) ->
          state[job] = 5; ends[job]++; assert(ends[job] <= 1)
       :: else -> skip
       fi;
       if
       :: under = 0
       :: skip
       fi }
  :: /* a lease of ours whose grant never came is given back */
     atomic { state[0] == 3 && holder[0] == me && (under == 0 || fence[0] != under) -> state[0] = 1; holder[0] = 0 }
  :: atomic { state[1] == 3 && holder[1] == me && (under == 0 || fence[1] != under) -> state[1] = 1; holder[1] = 0 }

  :: /* another node is declared gone, be it dead or slow, and its jobs are reclaimed */
     atomic { state[0] == 3 && holder[0] != me -> gone[holder[0]] = true; reclaim(holder[0]) }
  :: atomic { state[1] == 3 && holder[1] != me -> gone[holder[1]] = true; reclaim(holder[1]) }
  :: /* killed, and started again */
     atomic { boots <= BOOTS -> runs[doing] = false; live[me] = false; under = 0; me = boots; doing = me; boots++ }
  :: /* fenced: it goes on under a new number; what it runs runs on */
     atomic { gone[me] && boots <= BOOTS -> live[me] = false; me = boots; boots++ }

  :: atomic { answered && state[0] == 5 && state[1] == 5 && under == 0 -> break }
  od
}
