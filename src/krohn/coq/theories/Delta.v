(* To be read for DeltaNet, DeltaProduct and rank-one networks: their memory.  No proofs here. *)
From Krohn Require Export Recurrent.
Import ListNotations.
Local Open Scope set_scope.
Local Notation "x ** y" := (Bmult mode_NE x y) (at level 40).
Definition tiny : f32 := literal 9223372 (-63) false.      (* the binary32 number next to 1e-12 *)
Fixpoint in_turn {A B} (f : B -> A -> B -> Prop) (l : list A) (b : B) : B -> Prop :=
  match l with [] => eq b | a :: l => c <- f b a ;; in_turn f l c end.
Section Heads.
(* heads, steps of each, sizes of keys and values; a rate for each entry of the keys (rank one),
   or one for each step *)
Variables (h s k v : nat) (rank_one : bool) (D : device) (ts : list tensor) (inputs : nat)
  (p : string) (x : vector).
Definition normalized (key : vector) : vector -> Prop :=
  q <- Sums D key key ;; eq (map (fun c => Bdiv mode_NE c (at_least tiny (Bsqrt mode_NE q))) key).
(* Step i of all; S is a list of columns.  S <- S + k (a (v - k.S)), or S <- S + k (v - (a k).S)
   for rank one; a = 2 sigmoid *)
Definition affine1 (w : list word) : f32 -> Prop := Sums D (x ++ [one]) (map float w).
Definition one_step (S : list vector) (i : nat) : list vector -> Prop :=
  let of_step size m := nth i (pieces (h * s) size m) [] in
  let twice_sigmoid c := b <- Sigmoid D c ;; eq (literal 2 0 false ** b) in
  raw <- linear D x (of_step k (matrix ts (p ++ "key") [] inputs (h * s * k))) ;;
  key <- normalized raw ;;
  value <- linear D x (of_step v (matrix ts (p ++ "value") [] inputs (h * s * v))) ;;
  if rank_one then
    y <- affine D x (of_step k (biased ts (p ++ "rate") inputs (h * s * k))) ;;
    a <- Forall2 twice_sigmoid y ;; let look := map (fun c => fst c ** snd c) (combine a key) in
    each2 (fun column vj => r <- Sums D look column ;; let write := Bminus mode_NE vj r in
                            each2 (fun c ki => plus_product D c ki write) column key) S value
  else
    y <- affine1 (nth i (biased ts (p ++ "beta") inputs (h * s)) []) ;; a <- twice_sigmoid y ;;
    each2 (fun column vj => r <- Sums D key column ;; let write := a ** Bminus mode_NE vj r in
                            each2 (fun c ki => plus_product D c ki write) column key) S value.
(* Head j: forgets (not for rank one), takes its steps, reads. *)
Definition one_head (j : nat) (S : list vector) : vector * list vector -> Prop :=
  open <- (if rank_one then eq S else
           y <- affine1 (nth j (biased ts (p ++ "gate") inputs h) []) ;; g <- Gate D y ;;
           eq (map (map (Bmult mode_NE g)) S)) ;;
  after <- in_turn one_step (seq (j * s) s) open ;;
  query <- linear D x (nth j (pieces h k (matrix ts (p ++ "query") [] inputs (h * k))) []) ;;
  r <- Forall2 (Sums D query) after ;; eq (r, after).
Definition all_heads (S : memory) : vector * memory -> Prop :=
  both <- each2 one_head (seq 0 h) S ;; eq (concat (map fst both), map snd both).
Definition head_labels : list label :=
  [F32 (p ++ "query") [inputs; h * k]; F32 (p ++ "key") [inputs; h * s * k];
   F32 (p ++ "value") [inputs; h * s * v]] ++
  if rank_one then biased_labels (p ++ "rate") inputs (h * s * k)
  else biased_labels (p ++ "beta") inputs (h * s) ++ biased_labels (p ++ "gate") inputs h.
End Heads.
Definition delta (h s k v : nat) (rank_one : bool) : mixer := {|
  Line := (if rank_one then "rank one" else "delta") ++ ": heads " ++ decimal h ++
          ", steps " ++ decimal s ++ ", keys " ++ decimal k ++ ", values " ++ decimal v;
  ReadOut := h * v; MixerLabels := head_labels h s k v rank_one;
  Empty := repeat (repeat (repeat zero k) v) h; Mix := all_heads h s k v rank_one |}.
