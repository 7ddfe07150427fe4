(* The layers again, for any arithmetic, so that the checker computes with its own; Reading.v
   proves that they are those of Recurrent.v. *)
From Coq Require Import ZArith List Permutation Bool.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32.
From Krohn Require Recurrent Delta.
Import ListNotations.
Open Scope Z_scope.

(* ---------- 1. Layers, written once for any arithmetic ----------
   F: numbers.  C: stored weights, one list for each number that comes out of a matrix (a column).
   M: what a computation gives: one result, no result, or a set of possible results. *)
Class Monad (M : Type -> Type) := { ret : forall {A}, A -> M A; bind : forall {A B}, M A -> (A ->
  M B) -> M B }.
Notation "x <- m ;; k" := (bind m (fun x => k)) (at level 61, m at next level,
  right associativity).
Notation "' p <- m ;; k" := (bind m (fun p => k)) (at level 61, p pattern, m at next level,
  right associativity).

#[global] Instance OptionMonad : Monad option :=
  {| ret := fun _ a => Some a; bind := fun _ _ m k => match m with Some a => k a | None =>
    None end |}.

Class Arith (F C : Type) (M : Type -> Type) := {
  constant : Z -> M F;                        (* 0, 1 or 2 *)
  opposite : F -> M F;
  weighted_sum : list F -> C -> M F;          (* a sum of products with stored weights *)
  dot : list F -> list F -> M F;              (* a sum of products *)
  sub : F -> F -> M F;  mul : F -> F -> M F;  add : F -> F -> M F;  quotient : F -> F -> M F;
  sqroot : F -> M F;  relu : F -> M F;  sigmoid : F -> M F;  tanh : F -> M F;
  forget_gate : F -> M F;                     (* a sigmoid that may be computed as exp (log
    sigmoid) *)
  over_norm : F -> F -> M F;                  (* x / max(n, 1e-12) *)
  at_least_one : F -> M F }.

Section Weights.
Context {C : Type}.
Definition matrix := list C.
(* S <- S + k (beta (v - k.S)) with beta = 2 sigmoid, or S <- S + k (v - (a k).S) with a rate a
   for each entry *)
Inductive delta_step := Householder (key value : matrix) (beta : C) | RankOne (key value rate :
  matrix).
Record head := { Gate : option C; Steps : list delta_step; Query : matrix; Keys : nat;
  Values : nat }.
Inductive bend := Unit | Signed.
Inductive mixer := Delta (heads : list head) | Diagonal (b : bend) (channels : nat) (gate write :
  matrix)
  | Complex (channels : nat) (gate_re gate_im write_re write_im : matrix).
Record block := { Mixer : mixer; Out : matrix; Mlp : option (matrix * matrix) }.
Record network := { Two : bool; Dim : nat; Rows : nat; Embedding : matrix; Blocks : list block;
  Readout : matrix }.
End Weights.
Arguments matrix : clear implicits.  Arguments delta_step : clear implicits.
Arguments head : clear implicits.
Arguments mixer : clear implicits.  Arguments block : clear implicits.
Arguments network : clear implicits.

Section Layers.
Context {F C : Type} {M : Type -> Type} {MM : Monad M} {AA : Arith F C M}.

Fixpoint mapM {A B} (f : A -> M B) (l : list A) : M (list B) :=
  match l with [] => ret [] | a :: l => b <- f a ;; bs <- mapM f l ;; ret (b :: bs) end.
Fixpoint map2M {A B D} (f : A -> B -> M D) (l : list A) (k : list B) : M (list D) :=
  match l, k with a :: l, b :: k => c <- f a b ;; cs <- map2M f l k ;; ret (c :: cs) | _, _ =>
    ret [] end.
Fixpoint foldM {A B} (f : B -> A -> M B) (l : list A) (b : B) : M B :=
  match l with [] => ret b | a :: l => c <- f b a ;; foldM f l c end.

Definition vector := list F.
Definition linear (x : vector) (w : matrix C) : M vector := mapM (weighted_sum x) w.
Definition with_one (x : vector) : M vector := one <- constant 1 ;; ret (x ++ [one]).
Definition affine (x : vector) (w : matrix C) : M vector := y <- with_one x ;; linear y w.
(* bias: the last weight *)
Definition affine1 (x : vector) (w : C) : M F := y <- with_one x ;; weighted_sum y w.
Definition plus_product (a x y : F) : M F := one <- constant 1 ;; dot [a; x] [one; y].
(* a + x y *)

(* A head of gated DeltaProduct or of rank-one steps; its memory is a list of columns, one for
   each entry of the values. *)
Definition normalize (k : vector) : M vector := q <- dot k k ;; n <- sqroot q ;; mapM (fun x =>
  over_norm x n) k.
Definition twice_sigmoid (z : F) : M F := b <- sigmoid z ;; two <- constant 2 ;; mul two b.
Definition one_step (x : vector) (S : list vector) (s : delta_step C) : M (list vector) :=
  match s with
  | Householder key value beta =>
      raw <- linear x key ;; k <- normalize raw ;; v <- linear x value ;; z <- affine1 x beta ;;
        b <- twice_sigmoid z ;;
      map2M (fun c vj => r <- dot k c ;; missing <- sub vj r ;; w <- mul b missing ;;
                         map2M (fun cij ki => plus_product cij ki w) c k) S v
  | RankOne key value rate =>
      raw <- linear x key ;; k <- normalize raw ;; v <- linear x value ;; z <- affine x rate ;;
        a <- mapM twice_sigmoid z ;;
      look <- map2M mul a k ;;
      map2M (fun c vj => r <- dot look c ;; missing <- sub vj r ;;
                         map2M (fun cij ki => plus_product cij ki missing) c k) S v
  end.
Definition one_head (x : vector) (h : head C) (S : list vector) : M (vector * list vector) :=
  S0 <- match Gate h with
        | None => ret S
        | Some w => z <- affine1 x w ;; g <- forget_gate z ;; mapM (mapM (mul g)) S
        end ;;
  S1 <- foldM (one_step x) (Steps h) S0 ;; q <- linear x (Query h) ;; r <- mapM (dot q) S1 ;;
    ret (r, S1).

(* A diagonal layer: h <- a h + w; complex gates are z / max(1, |z|). *)
Definition bent_gate (b : bend) (z : F) : M F := match b with Unit => sigmoid z | Signed =>
  tanh z end.
Definition complex_gate (a b : F) : M (F * F) :=
  q <- dot [a; b] [a; b] ;; s <- at_least_one q ;; n <- sqroot s ;; c <- quotient a n ;;
    d <- quotient b n ;; ret (c, d).
Definition complex_product (g h : F * F) : M (F * F) :=
  b <- opposite (snd g) ;; re <- dot [fst g; b] [fst h; snd h] ;;
  im <- dot [fst g; snd g] [snd h; fst h] ;; ret (re, im).

Definition memory := list (list vector).
Definition mix (m : mixer C) (x : vector) (S : memory) : M (vector * memory) :=
  match m with
  | Delta heads => both <- map2M (one_head x) heads S ;; ret (concat (map fst both), map snd both)
  | Diagonal b _ gate write =>
      z <- affine x gate ;; a <- mapM (bent_gate b) z ;; w <- linear x write ;;
      h <- map2M (fun '(ai, hi) wi => plus_product wi ai hi) (combine a (hd [] (hd [] S))) w ;;
        ret (h, [[h]])
  | Complex _ gr gi wr wi =>
      z <- affine x gr ;; y <- affine x gi ;; g <- map2M complex_gate z y ;;
      t <- map2M complex_product g (combine (hd [] (hd [] S)) (nth 1 (hd [] S) [])) ;;
      ur <- linear x wr ;; ui <- linear x wi ;;
      re <- map2M add (map fst t) ur ;; im <- map2M add (map snd t) ui ;; ret (re ++ im, [[re;
        im]])
  end.

(* A block: mixer, then MLP, each added to the stream; both may look one letter back. *)
Definition block_state := (memory * vector * vector)%type.
Definition state := list block_state.
Definition for_next (two : bool) (x : vector) : vector := if two then x else [].
Definition window (two : bool) (x before : vector) : vector := if two then x ++ before else x.
Definition one_block (two : bool) (b : block C) (x : vector) (s : block_state) : M (vector *
  block_state) :=
  let '(m, before_mix, before_mlp) := s in
  '(read, S1) <- mix (Mixer b) (window two x before_mix) m ;;
  change <- linear read (Out b) ;; y <- map2M add x change ;;
  match Mlp b with
  | None => ret (y, (S1, for_next two x, for_next two y))
  | Some (win, wout) =>
      z <- affine (window two y before_mlp) win ;; h <- mapM relu z ;; c <- linear h wout ;;
      out <- map2M add y c ;; ret (out, (S1, for_next two x, for_next two y))
  end.
Fixpoint all_blocks (two : bool) (bs : list (block C)) (x : vector) (s : state) : M (vector *
  state) :=
  match bs, s with
  | b :: bs, t :: s => '(y, t1) <- one_block two b x t ;; '(z, s1) <- all_blocks two bs y s ;;
    ret (z, t1 :: s1)
  | _, _ => ret (x, [])
  end.
Definition letter_vector (n : network C) (letter : nat) : M vector :=
  x <- mapM (fun i => constant (if (i =? letter)%nat then 1 else 0)) (seq 0 (Rows n)) ;;
  linear x (Embedding n).
Definition step (n : network C) (s : state) (letter : nat) : M (vector * state) :=
  x <- letter_vector n letter ;; '(y, s1) <- all_blocks (Two n) (Blocks n) x s ;;
  logits <- affine y (Readout n) ;; ret (logits, s1).

Definition zeros (n : nat) : M vector := mapM (fun _ => constant 0) (seq 0 n).
Definition empty (m : mixer C) : M memory :=
  match m with
  | Delta heads => mapM (fun h => mapM (fun _ => zeros (Keys h)) (seq 0 (Values h))) heads
  | Diagonal _ k _ _ => z <- zeros k ;; ret [[z]]
  | Complex k _ _ _ _ => z <- zeros k ;; ret [[z; z]]
  end.
Definition start (n : network C) : M state :=
  mapM (fun b => S <- empty (Mixer b) ;; z <- zeros (Dim n) ;; ret (S, for_next (Two n) z,
    for_next (Two n) z)) (Blocks n).
End Layers.

(* ---------- 2. The arithmetic of the device as one of them ---------- *)
Notation any_order := Recurrent.any_order.
Notation left_to_right := Recurrent.left_to_right.
Notation one_order := Recurrent.one_order.
Notation half := Recurrent.half.
Notation far := Recurrent.far.
Notation at_least := Recurrent.at_least.
Notation is_gate := Recurrent.is_gate.
Notation is_sigmoid := Recurrent.is_sigmoid.
Notation is_tanh := Recurrent.is_tanh.
Notation tiny := Delta.tiny.
Definition possible (A : Type) : Type := A -> Prop.         (* the results that a device may give
   *)
#[global] Instance SetMonad : Monad possible :=
  {| ret := fun _ a b => a = b; bind := fun _ _ m k b => exists a, m a /\ k a b |}.

Section Device.
Variables (sums_of : list f32 -> list f32 -> f32 -> Prop) (sig gat th : f32 -> f32 -> Prop).
Definition device : Arith f32 (list word) possible := @Build_Arith f32 (list word) possible
  (* constant *)     (fun z r => literal z 0 false = r)
  (* opposite *)     (fun x r => Bopp x = r)
  (* weighted_sum *) (fun x c => sums_of x (map float c))
  (* dot *)          sums_of
  (* sub *)          (fun x y r => Bminus mode_NE x y = r)
  (* mul *)          (fun x y r => Bmult mode_NE x y = r)
  (* add *)          (fun x y r => Bplus mode_NE x y = r)
  (* quotient *)     (fun x y r => Bdiv mode_NE x y = r)
  (* sqroot *)       (fun x r => Bsqrt mode_NE x = r)
  (* relu *)         (fun x r => (if smaller x zero then zero else x) = r)
  (* sigmoid *)      sig
  (* tanh *)         th
  (* forget_gate *)  gat
  (* over_norm *)    (fun x n r => Bdiv mode_NE x (at_least tiny n) = r)
  (* at_least_one *) (fun x r => at_least one x = r).
End Device.

(* ---------- 3. What is claimed ---------- *)
Section Claim.
Variables (A : Arith f32 (list word) possible) (n : network (list word)).
Inductive leads_to : list nat -> list (list (list (list f32)) * list f32 * list f32) -> Prop :=
| at_start s : start n s -> leads_to [] s
| by_letter w s a y t : leads_to w s -> step n s a (y, t) -> leads_to (w ++ [a]) t.
Definition logits_after (w : list nat) (a : nat) (y : list f32) : Prop :=
  exists s t, leads_to w s /\ step n s a (y, t).
End Claim.

Definition answers_every_word (sums_of : list f32 -> list f32 -> f32 ->
  Prop) (n : network (list word)) (d : automaton) : Prop :=
  is_complete d = true /\
  forall sig gat th, is_sigmoid sig -> is_gate gat -> is_tanh th -> forall w a, is_word_of d (w ++
    [a]) ->
  (exists y, logits_after (device sums_of sig gat th) n w a y) /\
  forall y, logits_after (device sums_of sig gat th) n w a y -> answers d y (w ++ [a]).
