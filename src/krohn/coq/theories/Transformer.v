(* To be read: Transformers in binary32, exp by its accuracy, and the claim.  No proofs here. *)
From Coq Require Export Reals.
From Krohn Require Export Float32.
Import ListNotations.
Definition vec := list f32.
Definition matrix := list vec.               (* its columns: one for each number that comes out *)
Record thead := { WQ : matrix; WK : matrix; WV : matrix; WC : matrix }.
Record tlayer := { Heads : list thead; KeepAttention : vec; Mlps : list (matrix * vec);
  KeepMlp : vec }.
Record transformer := { Tokens : list vec; Padding : list vec; Places : list vec;
  TLayers : list tlayer; Unembed : matrix * vec }.
(* Each number of y is a sum of products, in any order and bracketing, fused or not
   (Float32.sums). *)
Definition each_sum {A} (terms : A -> list (f32 * f32)) (l : list A) (y : vec) : Prop :=
  Forall2 (fun a r => sums (terms a) r) l y.
Definition times (x : vec) (w : matrix) (y : vec) : Prop := each_sum (combine x) w y.
Definition with_bias (x : vec) (w : matrix * vec) (y : vec) : Prop :=
  each_sum (fun cb => combine x (fst cb) ++ [(snd cb, one)]) (combine (fst w) (snd w)) y.
Fixpoint mlp (ws : list (matrix * vec)) (x y : vec) : Prop :=
  match ws with
  | [] => y = x
  | [w] => with_bias x w y
  | w :: ws => exists z, with_bias x w z /\ mlp ws (map rectified z) y
  end.
Definition at_channel (c : nat) (x : vec) : f32 := nth c x zero.
Section Device.
(* the results of the device's exp; positions 0 to n - 1 *)
Variables (ex : f32 -> f32 -> Prop) (n : nat).
(* Softmax at position t of scores s: m is the largest that t sees; positions after t weigh 0.
   Two positions may have different results of exp for one argument. *)
Definition exponential (t : nat) (m : f32) (s : nat -> f32) (i : nat) (e : f32) : Prop :=
  if (i <=? t)%nat then ex (Bminus mode_NE (s i) m) e else e = zero.
(* a quotient, or a product with the reciprocal (torch's CPU) *)
Definition divided (x y r : f32) : Prop :=
  r = Bdiv mode_NE x y \/ r = Bmult mode_NE x (Bdiv mode_NE one y).
Definition softmax (t : nat) (s w : nat -> f32) : Prop := exists (m total : f32) (e : nat -> f32),
  (exists i, (i <= t)%nat /\ s i = m) /\ (forall i, (i <= t)%nat -> smaller m (s i) = false) /\
  (forall i, exponential t m s i (e i)) /\ sums (map (fun i => (e i, one)) (seq 0 n)) total /\
  forall i, divided (e i) total (w i).
(* A stream has a vector for each position.  Scores are not scaled. *)
Definition stream := nat -> vec.
Definition head_on (h : thead) (xs ys : stream) : Prop := exists q k v : stream,
  (forall i, (i < n)%nat ->
    times (xs i) (WQ h) (q i) /\ times (xs i) (WK h) (k i) /\ times (xs i) (WV h) (v i)) /\
  forall t, (t < n)%nat -> exists (s w : nat -> f32) (y : vec),
    (forall i, (i < n)%nat -> sums (combine (q t) (k i)) (s i)) /\ softmax t s w /\
    each_sum (fun c => map (fun i => (w i, at_channel c (v i))) (seq 0 n))
             (seq 0 (length (WV h))) y /\
    times y (WC h) (ys t).
(* The heads' results are added to the channels that are kept, then that of the MLP. *)
Definition layer_on (l : tlayer) (xs ys : stream) : Prop := exists hs : list stream,
  Forall2 (fun h => head_on h xs) (Heads l) hs /\
  forall t, (t < n)%nat -> exists y z,
    each_sum (fun c => (at_channel c (xs t), at_channel c (KeepAttention l)) ::
                       map (fun h => (at_channel c (h t), one)) hs)
             (seq 0 (length (KeepAttention l))) y /\
    mlp (Mlps l) y z /\
    each_sum (fun c => [(at_channel c y, at_channel c (KeepMlp l)); (at_channel c z, one)])
             (seq 0 (length (KeepMlp l))) (ys t).
Fixpoint layers_on (ls : list tlayer) (xs ys : stream) : Prop :=
  match ls with [] => ys = xs | l :: ls => exists zs, layer_on l xs zs /\ layers_on ls zs ys end.
End Device.
(* Padding comes first, then the letters; each has the code of its position added. *)
Definition symbol (tr : transformer) (w : list nat) (i : nat) : vec :=
  if (i <? length (Padding tr))%nat then nth i (Padding tr) []
  else nth (nth (i - length (Padding tr)) w 0%nat) (Tokens tr) [].
Definition embedded (tr : transformer) (w : list nat) (i : nat) (x : vec) : Prop :=
  let place := nth i (Places tr) [] in
  each_sum (fun c => [(at_channel c (symbol tr w i), one); (at_channel c place, one)])
           (seq 0 (length place)) x.
Definition forward (ex : f32 -> f32 -> Prop) (tr : transformer) (w : list nat) (logits : stream)
  : Prop :=
  let tau := length (Padding tr) in let n := (tau + length w)%nat in
  exists xs ys, (forall i, (i < n)%nat -> embedded tr w i (xs i)) /\
  layers_on ex n (TLayers tr) xs ys /\
  forall t, (t < length w)%nat -> with_bias (ys (tau + t)%nat) (Unembed tr) (logits t).
(* Of exp only this is assumed: it has results, and for arguments that are not positive each of
   them is 1 at 0, else at most 32 units in the last place off. *)
Definition is_exp (f : f32 -> f32 -> Prop) : Prop :=
  (exists g, forall x, f x (g x)) /\
  forall x y, f x y -> is_finite x = true -> (B2R x <= 0)%R ->
  is_finite y = true /\ (B2R x = 0%R -> y = one) /\
  (Rabs (B2R y - exp (B2R x)) <= 32 * bpow radix2 (-23) * exp (B2R x) + bpow radix2 (-126))%R.
(* At each position of each word of at most T letters the device gives logits, and that of the
   automaton's state is the largest. *)
Definition right_up_to (T : nat) (tr : transformer) (d : automaton) : Prop :=
  is_complete d = true /\
  forall ex, is_exp ex -> forall w, (length w <= T)%nat -> is_word_of d w ->
  (exists ys, forward ex tr w ys) /\
  forall ys, forward ex tr w ys ->
  forall t, (t < length w)%nat -> answers d (ys t) (firstn (S t) w).
