(* To be read for diagonal networks: their memory.  No proofs here. *)
From Krohn Require Export Recurrent.
Import ListNotations.
Local Open Scope set_scope.
(* h <- a h + w, entry by entry *)
Definition real_mix (signed : bool) (n : nat) (D : device) (ts : list tensor) (inputs : nat)
  (p : string) (x : vector) (S : memory) : vector * memory -> Prop :=
  y <- affine D x (biased ts (p ++ "gate") inputs n) ;;
  a <- Forall2 (if signed then Tanh D else Sigmoid D) y ;;
  w <- linear D x (matrix ts (p ++ "write") [] inputs n) ;;
  h <- each2 (fun ah wi => plus_product D wi (fst ah) (snd ah)) (combine a (hd [] (hd [] S))) w ;;
  eq (h, [[h]]).
(* the same in complex numbers, with gates g / max(1, |g|) *)
Definition complex_gate (D : device) (a b : f32) : f32 * f32 -> Prop :=
  q <- Sums D [a; b] [a; b] ;; let n := Bsqrt mode_NE (at_least one q) in
  eq (Bdiv mode_NE a n, Bdiv mode_NE b n).
Definition complex_product (D : device) (g h : f32 * f32) : f32 * f32 -> Prop :=
  re <- Sums D [fst g; Bopp (snd g)] [fst h; snd h] ;;
  im <- Sums D [fst g; snd g] [snd h; fst h] ;; eq (re, im).
Definition complex_mix (n : nat) (D : device) (ts : list tensor) (inputs : nat) (p : string)
  (x : vector) (S : memory) : vector * memory -> Prop :=
  let gates := biased ts (p ++ "gate") inputs (2 * n) in
  let write := matrix ts (p ++ "write") [] inputs (2 * n) in
  y <- affine D x (firstn n gates) ;; y' <- affine D x (skipn n gates) ;;
  g <- each2 (complex_gate D) y y' ;;
  t <- each2 (complex_product D) g (combine (hd [] (hd [] S)) (nth 1 (hd [] S) [])) ;;
  w <- linear D x (firstn n write) ;; w' <- linear D x (skipn n write) ;;
  let re := added (map fst t) w in let im := added (map snd t) w' in eq (re ++ im, [[re; im]]).
Definition diagonal_labels (n inputs : nat) (p : string) : list label :=
  F32 (p ++ "write") [inputs; n] :: biased_labels (p ++ "gate") inputs n.
Definition diagonal (signed : bool) (n : nat) : mixer :=
  {| Line := (if signed then "diagonal: signed " else "diagonal: unit ") ++ decimal n;
     ReadOut := n; MixerLabels := diagonal_labels n; Empty := [[repeat zero n]];
     Mix := real_mix signed n |}.
Definition complex_diagonal (n : nat) : mixer :=
  {| Line := "diagonal: complex " ++ decimal n; ReadOut := 2 * n;
     MixerLabels := diagonal_labels (2 * n); Empty := [[repeat zero n; repeat zero n]];
     Mix := complex_mix n |}.
