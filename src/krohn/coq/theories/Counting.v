(* Hints, counters, and heads that count.
   A layer has counters.  The class of each letter says what it adds to a counter or sets it to; a
   counter may also take what another had a letter before, or move only once.  Counters are read in
   groups, as a sum by its residue or up to where it stops, and class and residues say the class
   after the layer: all of it is a finite machine without rounding (advanced_is).
   A head that gives each letter it picks nearly the same share has a count as its result, times a
   unit, give or take (head_sound). *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax Attention Forms.
Import ListNotations.
Open Scope Z_scope.

(* ---------- lists ---------- *)
Lemma mapM_some {A B} (f : A -> option B) l : forall r, mapM f l = Some r -> Forall2 (fun b a =>
  f a = Some b) r l.
Proof.
  induction l as [|a l IH]; intros r; cbn; [intros [= <-]; constructor|]. destruct (f a) as [b|]
    eqn:E; [|discriminate]. cbn.
  destruct (mapM f l) as [bs|]; [|discriminate]. cbn. intros H. apply some_inj in H. subst r.
  constructor; auto.
Qed.
Lemma mapM_nth {A B} (f : A -> option B) l : forall r i da db, mapM f l = Some r ->
  (i < length l)%nat -> f (nth i l da) = Some (nth i r db).
Proof. intros r i da db E. apply mapM_some in E. revert i. induction E; intros i Hi; cbn in Hi;
  [lia|]. destruct i; cbn; auto. apply IHE. lia. Qed.
Lemma Forall2_combine {A B C D} (P : A -> C -> Prop) (Q : B -> D -> Prop) a c b d : Forall2 P a c
  -> Forall2 Q b d ->
  Forall2 (fun x y => P (fst x) (fst y) /\ Q (snd x) (snd y)) (combine a b) (combine c d).
Proof. intros H. revert b d. induction H; intros b d HQ; cbn; [constructor|].
destruct HQ; constructor; auto. Qed.
Lemma Forall2_at {A B} (P : A -> B -> Prop) a b da db : P da db -> Forall2 P a b ->
  forall i, P (nth i a da) (nth i b db).
Proof. intros H0 H. induction H; intros [|i]; cbn; auto. Qed.
Lemma inv_at B x c : inv B x -> inb (nth c B zero_box) (at_channel c x).
Proof. intros H. apply (Forall2_at inb); auto. apply inb_zero. Qed.
Definition pairs (bs : list (box * box)) (l : list (f32 * f32)) : Prop := Forall2 (fun bb p =>
  inb (fst bb) (fst p) /\ inb (snd bb) (snd p)) bs l.

(* ---------- numbers and matrices as boxes ---------- *)
Definition box_of (x : f32) : option box :=
  match x with
  | B754_zero _ => Some (0, 0)
  | B754_finite s m e _ =>
      let z := if s then Z.neg m else Z.pos m in
      if 0 <=? e + 40 then let v := z * 2 ^ (e + 40) in Some (v, v)
      else let k := - (e + 40) in Some (Z.shiftr z k, - Z.shiftr (- z) k)
  | _ => None
  end.
Lemma box_of_sound x b : box_of x = Some b -> inb b x.
Proof.
  destruct x as [s|s| |s m e H]; try discriminate.
  - intros [= <-]. split; [reflexivity|]. unfold at40. cbn. lra.
  - cbn [box_of]. set (z := if s then Z.neg m else Z.pos m). intros E. split; [reflexivity|].
    assert (V : at40 (B2R (B754_finite s m e H)) = (IZR z * bpow radix2 (e + 40))%R).
    { unfold at40. rewrite bpow_plus, grid_is, <- Rmult_assoc. f_equal. }
    rewrite V. destruct (Z.leb_spec 0 (e + 40)) as [C|C]; apply some_inj in E; subst b;
      cbn [fst snd].
    + rewrite mult_IZR, <- (IZR_Zpower radix2) by assumption. cbn [radix_val radix2]. lra.
    + set (k := - (e + 40)) in *. pose proof (IZR_shiftr z k ltac:(lia)) as [K _].
      pose proof (IZR_shiftr (- z) k ltac:(lia)) as [K' _].
      change (2 ^ k)%Z with (Zpower radix2 k) in *. rewrite IZR_Zpower in K, K' by lia.
      rewrite opp_IZR in *.
      assert (P : (bpow radix2 (e + 40) * bpow radix2 k = 1)%R) by (rewrite <- bpow_plus;
        replace (e + 40 + k) with 0 by lia; reflexivity).
      pose proof (bpow_gt_0 radix2 k). split; apply Rmult_le_reg_r with (bpow radix2 k); auto;
        rewrite ?Rmult_assoc, P; lra.
Qed.
Definition boxes_of (x : vec) : option (list box) := mapM box_of x.
Lemma boxes_of_sound x B : boxes_of x = Some B -> inv B x.
Proof. intros H. apply mapM_some in H. unfold inv. induction H; constructor;
  auto using box_of_sound. Qed.
Definition all_boxes (w : matrix) : option (list (list box)) := mapM boxes_of w.
Lemma all_boxes_sound w W : all_boxes w = Some W -> Forall2 inv W w.
Proof. intros H. apply mapM_some in H. induction H; constructor; auto using boxes_of_sound. Qed.

Lemma each_sum_sound {A B} (terms : A -> list (f32 * f32)) (boxed : B -> list (box * box)) la lb y
  Y :
  Forall2 (fun b a => pairs (boxed b) (terms a)) lb la -> mapM (fun b =>
    sum_box (boxed b)) lb = Some Y -> each_sum terms la y -> inv Y y.
Proof.
  intros HP HM HY. apply mapM_some in HM. unfold each_sum in HY. unfold inv. revert y HY Y HM.
  induction HP as [|b a lb la Hp HP IH]; intros y HY Y HM.
  - inversion HY; subst. inversion HM; subst. constructor.
  - inversion HY; subst. inversion HM; subst. constructor; eauto using sum_box_sound.
Qed.
Definition times_box (X : list box) (W : list (list box)) : option (list box) := mapM (fun C =>
  sum_box (combine X C)) W.
Lemma times_sound X x W w Y y : inv X x -> Forall2 inv W w -> times_box X W = Some Y ->
  times x w y -> inv Y y.
Proof.
  intros HX HW HY HT. apply (each_sum_sound (combine x) (combine X) w W y Y); auto. clear -HX HW.
  induction HW; constructor; auto.
  apply Forall2_combine; assumption.
Qed.
Definition bias_box (X : list box) (W : list (list box) * list box) : option (list box) :=
  mapM (fun Cb => sum_box (combine X (fst Cb) ++ [(snd Cb, one_box)])) (combine (fst W) (snd W)).
Definition inw (W : list (list box) * list box) (w : matrix * vec) : Prop :=
  Forall2 inv (fst W) (fst w) /\ inv (snd W) (snd w).
Lemma bias_sound X x W w Y y : inv X x -> inw W w -> bias_box X W = Some Y -> with_bias x w y ->
  inv Y y.
Proof.
  intros HX [HW HB] HY HT. unfold bias_box in HY. unfold with_bias in HT.
  apply (each_sum_sound (fun cb : vec * f32 => combine x (fst cb) ++ [(snd cb, one)])
            (fun Cb : list box * box => combine X (fst Cb) ++ [(snd Cb, one_box)]) (combine (fst
              w) (snd w)) (combine (fst W) (snd W)) y Y); auto.
  pose proof (Forall2_combine _ _ _ _ _ _ HW HB) as HC. clear -HX HC.
  induction HC as [|C c Cs cs [H1 H2] HC IH]; constructor; auto.
  apply Forall2_app; [apply Forall2_combine; assumption|]. constructor; [|constructor].
  split; [exact H2|apply inb_one].
Qed.
Definition relu_box (b : box) : box := (Z.max 0 (fst b), Z.max 0 (snd b)).
Lemma relu_sound B x : inv B x -> inv (map relu_box B) (map rectified x).
Proof.
  intros H. induction H as [|b x B xs [F [L U]] H IH]; cbn; constructor; auto. unfold rectified.
  unfold smaller. rewrite Bltb_correct by (auto; reflexivity). pose proof grid_pos as G.
  unfold at40 in *.
  destruct (Rlt_bool_spec (B2R x) (B2R zero)) as [C|C]; cbn [B2R zero] in C; (split; [auto;
    reflexivity|]); unfold at40; cbn [relu_box fst snd B2R zero]; rewrite !IZR_max;
  unfold Rmax; repeat destruct Rle_dec; nra.
Qed.
Fixpoint mlp_box (ws : list (list (list box) * list box)) (X : list box) : option (list box) :=
  match ws with
  | [] => Some X
  | [w] => bias_box X w
  | w :: ws => match bias_box X w with Some Z => mlp_box ws (map relu_box Z) | None => None end
  end.
Lemma mlp_sound Ws ws : Forall2 inw Ws ws -> forall X x Y y, inv X x -> mlp_box Ws X = Some Y ->
  mlp ws x y -> inv Y y.
Proof.
  intros H. induction H as [|W w Ws ws HW H IH]; intros X x Y y HX HY HM; cbn [mlp_box mlp] in *.
  - injection HY as <-. subst y. exact HX.
  - destruct H as [|W2 w2 Ws ws HW2 H]; [exact (bias_sound _ _ _ _ _ _ HX HW HY HM)|].
    destruct (bias_box X W) as [Z|] eqn:E; [|discriminate].
    destruct HM as [z [Hz HM]]. eapply IH; [|exact HY|exact HM]. apply relu_sound.
    exact (bias_sound _ _ _ _ _ _ HX HW E Hz).
Qed.

Record bhead := { BQ : list (list box); BK : list (list box); BV : list (list box);
  BC : list (list box) }.
Definition box_head (h : thead) : option bhead :=
  match all_boxes (WQ h), all_boxes (WK h), all_boxes (WV h), all_boxes (WC h) with
  | Some q, Some k, Some v, Some c => Some {| BQ := q; BK := k; BV := v; BC := c |} | _, _, _,
    _ => None end.
Definition inh (b : bhead) (h : thead) : Prop :=
  Forall2 inv (BQ b) (WQ h) /\ Forall2 inv (BK b) (WK h) /\ Forall2 inv (BV b) (WV h) /\
    Forall2 inv (BC b) (WC h).
Lemma box_head_sound h b : box_head h = Some b -> inh b h.
Proof.
  unfold box_head. destruct (all_boxes (WQ h)) eqn:E1; [|discriminate].
  destruct (all_boxes (WK h)) eqn:E2; [|discriminate].
  destruct (all_boxes (WV h)) eqn:E3; [|discriminate]. destruct (all_boxes (WC h)) eqn:E4;
    [|discriminate]. intros [= <-].
  repeat split; apply all_boxes_sound; assumption.
Qed.
Definition box_affine (w : matrix * vec) : option (list (list box) * list box) :=
  match all_boxes (fst w), boxes_of (snd w) with Some a, Some b => Some (a, b) | _, _ => None end.
Lemma box_affine_sound w W : box_affine w = Some W -> inw W w.
Proof.
  unfold box_affine. destruct all_boxes eqn:E; [|discriminate]. destruct boxes_of eqn:E2;
    [|discriminate]. intros [= <-].
  split; [apply all_boxes_sound|apply boxes_of_sound]; assumption.
Qed.
Lemma mapM_sound {A B} (f : A -> option B) (R : B -> A -> Prop) l r : (forall a b, f a = Some b ->
  R b a) -> mapM f l = Some r -> Forall2 R r l.
Proof. intros H E. apply mapM_some in E. induction E; constructor; auto. Qed.

(* ---------- claims about a stream ---------- *)
Definition sub (a b : box) : bool := (fst b <=? fst a) && (snd a <=? snd b).
Lemma sub_sound a b x : sub a b = true -> inb a x -> inb b x.
Proof. unfold sub. intros H [F [L U]]. apply andb_prop in H as [H1 H2].
apply Z.leb_le, IZR_le in H1, H2. split; [exact F|lra]. Qed.
Definition subs (A B : list box) : bool := (length A =? length B)%nat && forallb (fun p =>
  sub (fst p) (snd p)) (combine A B).
Lemma subs_sound A B x : subs A B = true -> inv A x -> inv B x.
Proof.
  unfold subs. intros H HA. apply andb_prop in H as [H1 H2]. apply Nat.eqb_eq in H1.
  revert B H1 H2.
  induction HA as [|a y A ys Ha HA IH]; intros [|b B] H1 H2; try discriminate; [constructor|].
  cbn in H1, H2.
  apply andb_prop in H2 as [H2 H3]. constructor; [exact (sub_sound _ _ _ H2 Ha)|].
  apply IH; [lia|exact H3].
Qed.
Definition hull (a b : box) : box := (Z.min (fst a) (fst b), Z.max (snd a) (snd b)).
Definition hulls (A B : list box) : list box := map (fun p => hull (fst p) (snd p)) (combine A B).
Definition hull_of (l : list (list box)) : list box := fold_right hulls (hd [] l) l.

(* ---------- hints ---------- *)
(* a value channel: its counter, and values = unit * step, give or take *)
Record channel := { Number : nat; UnitOf : Z }.
(* Picks: for each residue of the position, whether the head sees letters there *)
Record head_hint := { Picks : list bool; Channels : list channel }.
(* Writers: the classes of keys of which the head copies the latest *)
Record copy_hint := { Writers : list bool; Copied : list channel }.
Definition no_copy : copy_hint := {| Writers := []; Copied := [] |}.
(* Matches: what the head copies for each class of queries, the latest or the first of its keys.
   LookBack: how far, and what it copies from there. *)
Inductive any_hint := Counts (c : head_hint) | Matches (first : bool) (cs : list copy_hint)
  | LookBack (distance : nat) (cs : list channel).
(* a counter that moves by its own steps; that takes what another had a letter before; that moves
   only while another is 0 *)
Inductive rule := Own | After (j : nat) | Once (j : nat).
(* a combination of counters, its modulus, or where it stops counting; classes of letters in which
   it is looked at one by one *)
Record group := { Weights : list Z; Modulus : Z; Stops : bool; Coarse : list nat; Coarses : nat }.
(* Steps, Sets: for each counter, for each class, what it adds, or what it sets the counter to.
   PlaceOf: for each class the residue of its position.
   Owner, OwnerY: the group on which each hidden unit after Cut matrices, and each channel before
     the MLP, depends.
   NextClass: for each class, and the residues that occur with it, the class after the layer.
   Keys, Asks: for heads that match, the class of each key and of each query; 0 KeyClasses where
     no head does.
   Rules: for each counter, where not all are Own. *)
Record layer_hint := { HeadHints : list any_hint; Steps : list (list Z);
  Sets : list (list (option Z)); Rules : list rule; PlaceOf : list nat; Groups : list group;
  Cut : nat; Owner : list nat; OwnerY : list nat; NextClass : list (list (list Z * nat));
  NextClasses : nat; Keys : list nat; KeyClasses : nat; Asks : list nat; AskClasses : nat }.
Definition step_of (h : layer_hint) (j k : nat) : Z := nth k (nth j (Steps h) []) 0.
Definition set_of (h : layer_hint) (j k : nat) : option Z := nth k (nth j (Sets h) []) None.
Definition own_moved (h : layer_hint) (j k : nat) (z : Z) : Z := match set_of h j k with Some v =>
  v | None => z + step_of h j k end.
Definition rule_said (h : layer_hint) (j : nat) : rule := nth j (Rules h) Own.
Definition is_own (h : layer_hint) (j : nat) : bool :=
  match rule_said h j with Own => true | _ => false end.
(* a counter that takes what another had must be said to have the same steps, so that both have
   the same range *)
Definition maybe_eq (a b : option Z) : {a = b} + {a <> b}.
Proof. decide equality. apply Z.eq_dec. Defined.
Definition same_rows (h : layer_hint) (i j : nat) : bool :=
  (if list_eq_dec Z.eq_dec (nth i (Steps h) []) (nth j (Steps h) []) then true else false) &&
  (if list_eq_dec maybe_eq (nth i (Sets h) []) (nth j (Sets h) []) then true else false).
Definition rule_of (h : layer_hint) (j : nat) : rule := match rule_said h j with
  | After i => if same_rows h i j then After i else Own | r => r end.
Definition moved (h : layer_hint) (j k : nat) (n : nat -> Z) : Z := match rule_of h j with
  | Own => own_moved h j k (n j) | After i => n i
  | Once i => if n i =? 0 then own_moved h j k (n j) else n j end.
Fixpoint counts (h : layer_hint) (cls : nat -> nat) (t j : nat) : Z := match t with O =>
  0 | S i => moved h j (cls t) (counts h cls i) end.
Lemma is_own_rule h j : is_own h j = true -> rule_of h j = Own.
Proof. unfold is_own, rule_of. destruct (rule_said h j); congruence. Qed.
Lemma own_next h cls j t : is_own h j = true ->
  counts h cls (S t) j = own_moved h j (cls (S t)) (counts h cls t j).
Proof. intros H. cbn [counts]. unfold moved. now rewrite is_own_rule by exact H. Qed.
Lemma counts_count h cls j t : (forall i, (1 <= i <= t)%nat -> is_own h j = true /\
  set_of h j (cls i) = None) -> counts h cls t j = count (fun i => step_of h j (cls i)) t.
Proof.
  induction t as [|t IH]; intros H; [reflexivity|]. destruct (H (S t) ltac:(lia)) as [HO HN].
  rewrite own_next by exact HO. cbn [count]. unfold own_moved. rewrite HN, IH; [reflexivity|].
  intros; apply H; lia.
Qed.
(* a combination of counters: none of them is set, or all are *)
Definition step_in (h : layer_hint) (g : group) (k : nat) : Z := dot (Weights g) (fun j =>
  step_of h j k).
Fixpoint unset (ws : list Z) (s : nat -> option Z) : bool :=
  match ws with [] => true | w :: ws => ((w =? 0) || match s O with None => true | Some _ =>
    false end) && unset ws (fun j => s (S j)) end.
Fixpoint all_set (ws : list Z) (s : nat -> option Z) : option Z :=
  match ws with [] => Some 0 | w :: ws =>
    match all_set ws (fun j => s (S j)), (if w =? 0 then Some 0 else s O) with Some z, Some v =>
      Some (w * v + z) | _, _ => None end end.
Definition set_in (h : layer_hint) (g : group) (k : nat) : option Z :=
  if unset (Weights g) (fun j => set_of h j k) then None else all_set (Weights g) (fun j =>
    set_of h j k).
Definition moved_in (h : layer_hint) (g : group) (k : nat) (z : Z) : Z :=
  match set_in h g k with Some v => v | None => z + step_in h g k end.
Definition counted (h : layer_hint) (cls : nat -> nat) (g : group) (t : nat) : Z :=
  dot (Weights g) (counts h cls t).
Lemma dot_unset ws : forall s st n, unset ws s = true -> dot ws (fun j => match s j with Some v =>
  v | None => n j + st j end) = dot ws n + dot ws st.
Proof.
  induction ws as [|w ws IH]; intros s st n H; cbn [dot unset] in *; [reflexivity|].
  apply andb_prop in H as [H1 H2].
  rewrite (IH (fun j => s (S j)) (fun j => st (S j)) (fun j => n (S j)) H2).
  apply orb_prop in H1 as [H1|H1]; [apply Z.eqb_eq in H1; subst; lia|].
  destruct (s O); [discriminate|lia].
Qed.
Lemma dot_all_set ws : forall s st n v, all_set ws s = Some v -> dot ws (fun j =>
  match s j with Some v => v | None => n j + st j end) = v.
Proof.
  induction ws as [|w ws IH]; intros s st n v H; cbn [dot all_set] in *; [congruence|].
  destruct (all_set ws _) as [z|] eqn:E; [|discriminate].
  rewrite (IH (fun j => s (S j)) (fun j => st (S j)) (fun j => n (S j)) z E).
  destruct (Z.eqb_spec w 0) as [->|]; [injection H; lia|]. destruct (s O); [injection H;
    lia|discriminate].
Qed.
Definition own_only (h : layer_hint) (g : group) : bool :=
  forallb (fun j => (nth j (Weights g) 0 =? 0) || is_own h j) (seq 0 (length (Weights g))).
Definition together (h : layer_hint) (g : group) : bool :=
  own_only h g && forallb (fun k => unset (Weights g) (fun j => set_of h j k) ||
    match all_set (Weights g) (fun j => set_of h j k) with Some _ => true | None => false end)
          (seq 0 (fold_right (fun r m => Nat.max (length r) m) O (Sets h))).
Lemma set_of_beyond h j k : (fold_right (fun r m => Nat.max (length r) m) O (Sets h) <= k)%nat ->
  set_of h j k = None.
Proof.
  unfold set_of. revert j. induction (Sets h) as [|r rs IH]; intros [|j] H;
    cbn [nth fold_right] in *; try (now destruct k).
  - apply nth_overflow. lia.
  - apply IH. lia.
Qed.
Lemma unset_none ws : forall s, (forall j, s j = None) -> unset ws s = true.
Proof. induction ws as [|w ws IH]; intros s H; cbn; [reflexivity|]. rewrite H, orb_true_r.
apply IH. intros; apply H. Qed.
Lemma dot_ext ws : forall f g, (forall j, (j < length ws)%nat -> nth j ws 0 = 0 \/ f j = g j) ->
  dot ws f = dot ws g.
Proof.
  induction ws as [|w ws IH]; intros f g H; cbn [dot]; [reflexivity|].
  rewrite (IH (fun j => f (S j)) (fun j => g (S j))) by (intros j Hj; apply (H (S j));
    cbn [length]; lia).
  destruct (H O ltac:(cbn [length]; lia)) as [E|E]; [cbn [nth] in E; subst w; lia|now rewrite E].
Qed.
Lemma counted_own h cls g t : own_only h g = true -> counted h cls g (S t) =
  dot (Weights g) (fun j => own_moved h j (cls (S t)) (counts h cls t j)).
Proof.
  intros H. unfold counted. apply dot_ext. intros j Hj. unfold own_only in H.
  rewrite forallb_forall in H. specialize (H j ltac:(apply in_seq; lia)).
  apply orb_prop in H as [H|H]; [left; now apply Z.eqb_eq|right; now apply own_next].
Qed.
Lemma counted_next h cls g t : together h g = true -> counted h cls g (S t) = moved_in h g (cls (S
  t)) (counted h cls g t).
Proof.
  intros H. apply andb_prop in H as [HO H]. rewrite counted_own by exact HO.
  unfold counted, moved_in, set_in, own_moved. set (k := cls (S t)).
  destruct (unset (Weights g) (fun j => set_of h j k)) eqn:U; [now apply (dot_unset _ (fun j =>
    set_of h j k) (fun j => step_of h j k))|].
  destruct (all_set (Weights g) (fun j => set_of h j k)) as [v|] eqn:A; [now apply (dot_all_set _
    (fun j => set_of h j k) (fun j => step_of h j k))|]. exfalso.
  rewrite forallb_forall in H. destruct (le_lt_dec (fold_right (fun r m =>
    Nat.max (length r) m) O (Sets h)) k) as [L|L].
  - rewrite unset_none in U by (intros; now apply set_of_beyond). discriminate.
  - specialize (H k ltac:(apply in_seq; lia)). rewrite U, A in H. discriminate.
Qed.
Fixpoint same_residues (a b : list Z) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => (x =? y) && same_residues a b | _, _ => false
  end.
Fixpoint found (rs : list Z) (l : list (list Z * nat)) (otherwise : nat) : nat :=
  match l with [] => otherwise
  | (r, k) :: l => if same_residues r rs then k else found rs l otherwise end.
Definition next_class (h : layer_hint) (k : nat) (rs : list Z) : nat :=
  found rs (nth k (NextClass h) []) (NextClasses h).
Lemma same_residues_eq a : forall b, same_residues a b = true -> a = b.
Proof.
  induction a as [|x a IH]; intros [|y b] H; cbn in H; try discriminate; [reflexivity|].
  apply andb_prop in H as [H1 H2]. apply Z.eqb_eq in H1. f_equal; auto.
Qed.
Lemma found_in rs l m : (found rs l m < m)%nat -> In rs (map fst l).
Proof.
  induction l as [|[r k] l IH]; cbn; [lia|]. destruct (same_residues r rs) eqn:E; [|auto].
  apply same_residues_eq in E. auto.
Qed.
(* whether words lead there, if the hints are right *)
Definition allowed (h : layer_hint) (k : nat) (rs : list Z) : bool :=
  (next_class h k rs <? NextClasses h)%nat.
Definition reduced (g : group) (z : Z) : Z := if Stops g then Z.min z (Modulus g - 1) else z mod
  Modulus g.
Definition residues (h : layer_hint) (cls : nat -> nat) (t : nat) : list Z := map (fun g =>
  reduced g (counted h cls g t)) (Groups h).
Definition no_group : group := {| Weights := []; Modulus := 1; Stops := false; Coarse := [];
  Coarses := 0 |}.
Definition group_at (h : layer_hint) (i : nat) : group := nth i (Groups h) no_group.
Lemma nth_map {A B} (f : A -> B) l c da db : (c < length l)%nat -> nth c (map f l) db = f (nth c l
  da).
Proof. revert c. induction l as [|a l IH]; intros [|c] H; cbn in *; try lia; [reflexivity|].
apply IH. lia. Qed.
Lemma residues_at h cls t i : (i < length (Groups h))%nat -> nth i (residues h cls t) 0 =
  reduced (group_at h i) (counted h cls (group_at h i) t).
Proof. intros H. unfold residues, group_at. now apply (nth_map (fun g => reduced g (counted h cls g
  t))). Qed.
(* groups that stop count upwards; counters of one group are set together *)
Definition upwards (h : layer_hint) : bool :=
  forallb (forallb (Z.leb 0)) (Steps h) && forallb (forallb (fun o => match o with Some v =>
    0 <=? v | None => true end)) (Sets h).
(* a counter that is a group by itself, of its own number *)
Definition alone (h : layer_hint) (i : nat) : bool := let g := group_at h i in
  (i <? length (Groups h))%nat && (0 <? Modulus g) && negb (Stops g) &&
  same_residues (Weights g) (only i 1).
(* a counter whose residue is 0 only where it is *)
Definition guards (h : layer_hint) (i : nat) : bool :=
  alone h i && is_own h i && forallb (Z.eqb 0) (nth i (Steps h) []) &&
  forallb (fun o => match o with Some v => (0 <=? v) && (v <? Modulus (group_at h i)) | None =>
    true end) (nth i (Sets h) []).
Definition rises_alone (h : layer_hint) (i : nat) : bool := let g := group_at h i in
  (0 <? Modulus g) && match rule_said h i with
  | Own => together h g && (negb (Stops g) || forallb (Z.leb 0) (Weights g) && upwards h)
  | After j => alone h i && alone h j && (Modulus g =? Modulus (group_at h j)) && same_rows h j i
  | Once j => alone h i && guards h j end.
Definition rises (h : layer_hint) : bool :=
  forallb (rises_alone h) (seq 0 (length (Groups h))).
Lemma rises_at h i : rises h = true -> (i < length (Groups h))%nat -> rises_alone h i = true.
Proof. unfold rises. intros H I. rewrite forallb_forall in H. apply H, in_seq. lia. Qed.
Lemma rises_own h i : rises h = true -> (i < length (Groups h))%nat -> is_own h i = true ->
  let g := group_at h i in 0 < Modulus g /\ together h g = true /\
  (Stops g = true -> forallb (Z.leb 0) (Weights g) = true /\ upwards h = true).
Proof.
  intros H I HO g. apply (rises_at h i H) in I. unfold rises_alone, is_own in *. fold g in I.
  destruct (rule_said h i); try discriminate. apply andb_prop in I as [I1 I].
  apply andb_prop in I as [I2 I3]. apply Z.ltb_lt in I1. split; [exact I1|].
  split; [exact I2|]. intros S. rewrite S in I3. now apply andb_prop in I3.
Qed.
Lemma dot_pos cs : forallb (Z.leb 0) cs = true -> forall n, (forall j, 0 <= n j) -> 0 <= dot cs n.
Proof. induction cs as [|c cs IH]; cbn [forallb dot]; intros H n Hn; [lia|].
apply andb_prop in H as [H1 H2]. apply Z.leb_le in H1. pose proof (Hn O).
specialize (IH H2 (fun j => n (S j)) (fun j => Hn (S j))). nia. Qed.
Lemma nth2_all {A} (P : A -> bool) ls d j k : forallb (forallb P) ls = true -> P d = true ->
  P (nth k (nth j ls []) d) = true.
Proof.
  intros H D. rewrite forallb_forall in H. destruct (le_lt_dec (length ls) j) as [L|L];
    [rewrite (nth_overflow ls _ L); destruct k; exact D|].
  specialize (H _ (nth_In _ [] L)). rewrite forallb_forall in H.
  destruct (le_lt_dec (length (nth j ls [])) k) as [K|K]; [rewrite nth_overflow by exact K;
    exact D|]. apply H, nth_In, K.
Qed.
Lemma step_pos h j k : upwards h = true -> 0 <= step_of h j k.
Proof. unfold upwards. intros H. apply andb_prop in H as [H _]. apply Z.leb_le.
exact (nth2_all (Z.leb 0) _ 0 j k H eq_refl). Qed.
Lemma reduced_step h g z k : (Stops g = true -> forallb (Z.leb 0) (Weights g) = true /\
  upwards h = true) -> reduced g (moved_in h g k (reduced g z)) = reduced g (moved_in h g k z).
Proof.
  intros R. unfold moved_in. destruct (set_in h g k); [reflexivity|]. unfold reduced.
  destruct (Stops g) eqn:S; [|apply Zplus_mod_idemp_l]. destruct (R eq_refl) as [W U].
  assert (0 <= step_in h g k) by (apply dot_pos; [exact W|intros; now apply step_pos]). lia.
Qed.
(* the residue of a group after one more letter of class k *)
Definition next_residue (h : layer_hint) (rs : list Z) (k i : nat) : Z :=
  let g := group_at h i in let r := nth i rs 0 in match rule_said h i with
  | Own => reduced g (moved_in h g k r)
  | After j => nth j rs 0
  | Once j => if nth j rs 0 =? 0 then reduced g (own_moved h i k r) else r end.
Definition advanced (h : layer_hint) (rs : list Z) (k : nat) : list Z :=
  map (next_residue h rs k) (seq 0 (length (Groups h))).
Lemma alone_residue h cls t i : alone h i = true -> 0 < Modulus (group_at h i) /\
  nth i (residues h cls t) 0 = counts h cls t i mod Modulus (group_at h i).
Proof.
  unfold alone. cbv zeta. intros H. apply andb_prop in H as [H H4]. apply andb_prop in H as [H H3].
  apply andb_prop in H as [H1 H2]. apply Nat.ltb_lt in H1. apply Z.ltb_lt in H2.
  apply negb_true_iff in H3. apply same_residues_eq in H4. split; [exact H2|].
  rewrite residues_at by exact H1. unfold reduced, counted. rewrite H3, H4, dot_only. f_equal. lia.
Qed.
Lemma guards_range h cls t i : guards h i = true ->
  0 <= counts h cls t i < Modulus (group_at h i).
Proof.
  unfold guards. intros H. apply andb_prop in H as [H H4]. apply andb_prop in H as [H H3].
  apply andb_prop in H as [H1 H2]. destruct (alone_residue h cls t i H1) as [P _].
  induction t as [|t IH]; [cbn [counts]; lia|]. rewrite own_next by exact H2. unfold own_moved.
  destruct (set_of h i (cls (S t))) as [v|] eqn:E.
  - rewrite forallb_forall in H4. unfold set_of in E.
    destruct (le_lt_dec (length (nth i (Sets h) [])) (cls (S t))) as [L|L];
      [rewrite nth_overflow in E by exact L; discriminate|].
    specialize (H4 _ (nth_In _ None L)). rewrite E in H4. apply andb_prop in H4 as [H4 H5].
    apply Z.leb_le in H4. apply Z.ltb_lt in H5. lia.
  - assert (Z0 : step_of h i (cls (S t)) = 0); [|rewrite Z0; lia]. unfold step_of.
    destruct (le_lt_dec (length (nth i (Steps h) [])) (cls (S t))) as [L|L];
      [apply nth_overflow; exact L|]. rewrite forallb_forall in H3. symmetry.
    apply Z.eqb_eq, H3, nth_In, L.
Qed.
Lemma residues_numbered h cls t : residues h cls t =
  map (fun i => nth i (residues h cls t) 0) (seq 0 (length (Groups h))).
Proof.
  assert (G : forall (l : list Z), l = map (fun i => nth i l 0) (seq 0 (length l))).
  { induction l as [|a l IH]; [reflexivity|]. cbn [length seq map nth].
    rewrite <- seq_shift, map_map. cbn [nth]. now rewrite <- IH. }
  rewrite (G (residues h cls t)) at 1. unfold residues at 2. now rewrite map_length.
Qed.
Lemma advanced_is h cls t : rises h = true ->
  advanced h (residues h cls t) (cls (S t)) = residues h cls (S t).
Proof.
  intros H. rewrite (residues_numbered h cls (S t)). unfold advanced. apply map_ext_in.
  intros i I. apply in_seq in I. destruct I as [_ I]. cbn [Nat.add] in I.
  pose proof (rises_at h i H I) as R. unfold next_residue. cbv zeta.
  destruct (rule_said h i) as [|j|j] eqn:E.
  - destruct (rises_own h i H I ltac:(unfold is_own; now rewrite E)) as [_ [R2 R3]].
    rewrite !residues_at by exact I. rewrite reduced_step by exact R3.
    now rewrite counted_next by exact R2.
  - unfold rises_alone in R. rewrite E in R. apply andb_prop in R as [_ R].
    apply andb_prop in R as [R R4]. apply andb_prop in R as [R R3].
    apply andb_prop in R as [R1 R2]. apply Z.eqb_eq in R3.
    rewrite (proj2 (alone_residue h cls (S t) i R1)), (proj2 (alone_residue h cls t j R2)), R3.
    f_equal. cbn [counts]. unfold moved, rule_of. now rewrite E, R4.
  - unfold rises_alone in R. rewrite E in R. apply andb_prop in R as [_ R].
    apply andb_prop in R as [R1 R2]. pose proof (guards_range h cls t j R2) as G.
    assert (A : alone h j = true) by (unfold guards in R2; apply andb_prop in R2 as [R2 _];
      apply andb_prop in R2 as [R2 _]; now apply andb_prop in R2 as [R2 _]).
    destruct (alone_residue h cls t i R1) as [P RI].
    rewrite (proj2 (alone_residue h cls t j A)), (proj2 (alone_residue h cls (S t) i R1)), RI.
    rewrite Z.mod_small by exact G. cbn [counts]. unfold moved, rule_of. rewrite E.
    destruct (counts h cls t j =? 0); [|reflexivity]. unfold own_moved.
    destruct (set_of h i (cls (S t))) as [v|]; unfold reduced;
      (assert (S0 : Stops (group_at h i) = false) by (unfold alone in R1; cbv zeta in R1;
        destruct (Stops (group_at h i)); [rewrite !andb_false_r in R1; discriminate|reflexivity]));
      rewrite S0; [reflexivity|apply Zplus_mod_idemp_l].
Qed.
Definition next_classes (h : layer_hint) (cls : nat -> nat) (t : nat) : nat :=
  next_class h (cls t) (residues h cls t).

Section Layer.
Variables (p T : nat) (P X : list (list box)) (h : layer_hint).
(* period of places; boxes for each position, and for each class *)
Definition at_places (n : nat) (xs : stream) : Prop := forall i, (i < n)%nat ->
  inv (nth i P []) (xs i).
Definition by_class (n : nat) (cls : nat -> nat) (xs : stream) : Prop :=
  forall i, (1 <= i < n)%nat -> (cls i < length X)%nat /\ inv (nth (cls i) X []) (xs i).
Definition placed (n : nat) (cls : nat -> nat) : Prop := forall i, (1 <= i < n)%nat ->
  nth (cls i) (PlaceOf h) O = (i mod p)%nat.
(* from the least to the greatest of 0 and what a counter may be set to, and t steps more *)
Definition sets_from (l : list (option Z)) : Z * Z :=
  fold_right (fun o m => match o with Some v => (Z.min v (fst m), Z.max v (snd m)) | None =>
    m end) (0, 0) l.
Lemma sets_from_sound l v : In (Some v) l -> fst (sets_from l) <= v <= snd (sets_from l).
Proof. unfold sets_from. induction l as [|o l IH]; intros []; cbn [fold_right]; [subst; cbn;
  lia|]. specialize (IH H). destruct o; cbn [fst snd]; lia. Qed.
Lemma sets_from_zero l : fst (sets_from l) <= 0 <= snd (sets_from l).
Proof. unfold sets_from. induction l as [|[v|] l IH]; cbn [fold_right fst snd]; lia. Qed.
Definition span_after (t j : nat) : Z * Z := let s := nth j (Steps h) [] in let '(a, z) :=
  sets_from (nth j (Sets h) []) in
  (a + Z.of_nat t * fold_right Z.min 0 s, z + Z.of_nat t * fold_right Z.max 0 s).
(* at position 0 nothing was counted *)
Definition span_to (t j : nat) : Z * Z := match t with O => (0, 0) | S _ => span_after t j end.
Definition span (j : nat) : Z * Z := span_to T j.
Lemma step_range j k : fold_right Z.min 0 (nth j (Steps h) []) <= step_of h j k <= fold_right
  Z.max 0 (nth j (Steps h) []).
Proof.
  unfold step_of. revert k. induction (nth j (Steps h) []) as [|z r IH]; intros k; [destruct k;
    cbn; lia|].
  pose proof (IH O). destruct k as [|k]; cbn [nth fold_right]; [|specialize (IH k)]; lia.
Qed.
Lemma range_signs j : fold_right Z.min 0 (nth j (Steps h) []) <= 0 <= fold_right Z.max 0 (nth j
  (Steps h) []).
Proof. induction (nth j (Steps h) []); cbn; lia. Qed.
Lemma set_range j k v : set_of h j k = Some v -> fst (sets_from (nth j (Sets h) [])) <= v <= snd
  (sets_from (nth j (Sets h) [])).
Proof.
  unfold set_of. intros E. apply sets_from_sound. rewrite <- E. apply nth_In.
  destruct (le_lt_dec (length (nth j (Sets h) [])) k) as [L|L]; [|exact L].
  rewrite nth_overflow in E by exact L. discriminate.
Qed.
Lemma same_span h0 i j t : same_rows h0 i j = true -> h0 = h -> span_after t i = span_after t j.
Proof.
  unfold same_rows, span_after. intros H ->. apply andb_prop in H as [H1 H2].
  destruct (list_eq_dec Z.eq_dec _ _) as [->|]; [|discriminate].
  now destruct (list_eq_dec maybe_eq _ _) as [->|].
Qed.
Lemma span_grows t j : fst (span_after (S t) j) <= fst (span_after t j) /\
  snd (span_after t j) <= snd (span_after (S t) j).
Proof.
  unfold span_after. cbv zeta. pose proof (range_signs j).
  destruct (sets_from (nth j (Sets h) [])) as [a z]. cbn [fst snd]. nia.
Qed.
Lemma counts_after cls t : within (span_after t) (counts h cls t).
Proof.
  induction t as [|t IH]; intros j.
  - unfold span_after. cbv zeta. pose proof (sets_from_zero (nth j (Sets h) [])) as S0.
    destruct (sets_from (nth j (Sets h) [])) as [a z]. cbn [fst snd counts] in *. lia.
  - pose proof (span_grows t j) as G. pose proof (IH j) as IJ.
    assert (OWN : fst (span_after (S t) j) <= own_moved h j (cls (S t)) (counts h cls t j) <=
      snd (span_after (S t) j)).
    { clear G. unfold own_moved, span_after in *. cbv zeta in *. pose proof (range_signs j).
      pose proof (step_range j (cls (S t))). pose proof (set_range j (cls (S t))) as SR.
      destruct (sets_from (nth j (Sets h) [])) as [a z]. cbn [fst snd] in *.
      destruct (set_of h j (cls (S t))) as [v|]; [specialize (SR v eq_refl); nia|nia]. }
    cbn [counts]. unfold moved. destruct (rule_of h j) as [|i|i] eqn:E; [exact OWN| |].
    + unfold rule_of in E. destruct (rule_said h j) as [|i'|i']; try discriminate.
      destruct (same_rows h i' j) eqn:ES; [|discriminate]. injection E as ->.
      pose proof (IH i) as II. rewrite (same_span h i j t ES eq_refl) in II. lia.
    + destruct (counts h cls t i =? 0); [exact OWN|lia].
Qed.
Lemma counts_to cls t : within (span_to t) (counts h cls t).
Proof. destruct t; [intros j; cbn; lia|apply counts_after]. Qed.
Lemma counts_in cls t : (t <= T)%nat -> within span (counts h cls t).
Proof.
  intros Ht j. revert Ht. unfold span. generalize T as m. intros [|m] Ht.
  { replace t with O by lia. cbn. lia. }
  pose proof (counts_after cls t j). pose proof (range_signs j). cbn [span_to].
  unfold span_after in *. cbv zeta in *. destruct (sets_from _). cbn [fst snd] in *. nia.
Qed.

Definition picked (hh : head_hint) (r : nat) : bool := nth r (Picks hh) true.
Definition picks (hh : head_hint) (i : nat) : bool := picked hh (i mod p).
Definition off_by (b : box) (g : Z) : Z := Z.max (g - fst b) (snd b - g).
(* at each position the shares of position 0 and of a letter that is picked, if there is one, and
   the most that another may have; of all of them the middle, how far off it is, and the most *)
Definition row := (box * option box * Z)%type.
Definition no_row : row := (zero_box, None, 0).
Definition row_at (bh : bhead) (hh : head_hint) (k0 kl ku : list box) (t : nat) : option row :=
  match times_box (nth t P []) (BQ bh) with None => None | Some q =>
  match sum_box (combine q k0), sum_box (combine q kl), sum_box (combine q ku) with
  | Some s0, Some sl, Some su => let m := picks_to (picks hh) t in
      match shares T m t s0 sl su with
      | Some (w0, wl, wu) => Some (w0, if (m =? 0)%nat then None else Some wl, wu)
      | None => None end
  | _, _, _ => None end end.
Definition shares_in (rows : list row) : list box :=
  flat_map (fun r : row => match snd (fst r) with Some w => [w] | None => [] end) rows.
Definition share_of (rows : list row) : Z := let ws := shares_in rows in
  let b := fold_right hull (hd zero_box ws) ws in (fst b + snd b) / 2.
Definition slack_of (rows : list row) : Z :=
  fold_right (fun w m => Z.max (off_by w (share_of rows)) m) 0 (shares_in rows).
Definition rest_share (rows : list row) : Z := fold_right (fun r m => Z.max (snd r) m) 0 rows.
Definition row_fits (W e f : Z) (r : row) : bool := let '(w0, wl, wu) := r in
  sub w0 (- 2 * grid, 2 * grid) && (wu <=? f) &&
  match wl with Some w => sub w (W - e, W + e) | None => true end.
Definition largest (c : nat) (vx : list (list box)) : Z := fold_right (fun r m =>
  Z.max (size_of_box (nth c r zero_box)) m) 0 vx.
Definition unit_slack (hh : head_hint) (vx : list (list box)) (c : nat) (ch : channel) : Z :=
  fold_right (fun k m => if picked hh (nth k (PlaceOf h) O)
    then Z.max (off_by (nth c (nth k vx []) zero_box) (UnitOf ch * step_of h (Number ch) k)) m
    else m) 0 (seq 0 (length X)).
Definition channel_fits (hh : head_hint) (vx : list (list box)) (c : nat) (ch : channel)
  (dl : Z) : bool :=
  forallb (fun k => let g := UnitOf ch * step_of h (Number ch) k in
    is_own h (Number ch) && match set_of h (Number ch) k with Some _ => false | None => true end &&
    if picked hh (nth k (PlaceOf h) O) then sub (nth c (nth k vx []) zero_box) (g - dl, g + dl)
    else step_of h (Number ch) k =? 0) (seq 0 (length X)).
Definition no_channel : channel := {| Number := 0; UnitOf := 0 |}.
Definition seen_places (hh : head_hint) (b : bool) : list box := hull_of (map (fun i =>
  nth i P []) (filter (fun i => eqb (picks hh i) b) (seq 1 T))).
Definition head_forms (bh : bhead) (hh : head_hint) : option (list form) :=
  let Ht := seen_places hh true in let Hf := seen_places hh false in
  match times_box (nth 0 P []) (BK bh), times_box Ht (BK bh), times_box Hf (BK bh), times_box (nth
    0 P []) (BV bh), mapM (fun B => times_box B (BV bh)) X with
  | Some k0, Some kl, Some ku, Some v0, Some vx =>
      match mapM (row_at bh hh k0 kl ku) (seq 0 (S T)) with None => None | Some rows =>
      let W := share_of rows in let e := slack_of rows in let f := rest_share rows in
      if forallb (fun i => subs (nth i P []) (if picks hh i then Ht else Hf)) (seq 1 T) &&
        forallb (row_fits W e f) rows
      then match mapM (fun c => let ch := nth c (Channels hh) no_channel in
                         let dl := unit_slack hh vx c ch in let '(nl, nh) := span (Number ch) in
                         if channel_fits hh vx c ch dl
                         then counter_form T (Number ch) W e f (UnitOf ch) dl (largest c vx)
                           (2 * grid) (size_of_box (nth c v0 zero_box)) nl nh else None)
                      (seq 0 (length (BV bh))) with
           | Some ys => mapM (fun C => form_sum span (combine ys C)) (BC bh) | None => None end
      else None end
  | _, _, _, _, _ => None end.
Definition infs (F : list form) (n : nat -> Z) (x : vec) : Prop := Forall2 (fun f y =>
  inf f n y) F x.

Lemma abs_in b c x : sub b (- c, c) = true -> inb b x -> (Rabs (at40 (B2R x)) <= IZR c)%R.
Proof. intros H I. destruct (sub_sound _ _ _ H I) as [_ [A B]].
cbn [fst snd] in *. rewrite opp_IZR in A. apply Rabs_le. lra. Qed.
Lemma largest_sound c vx r : In r vx -> size_of_box (nth c r zero_box) <= largest c vx.
Proof. unfold largest. induction vx as [|a vx IH]; intros []; cbn; [subst; lia|].
specialize (IH H). lia. Qed.
Lemma near b g s x : sub b (g - s, g + s) = true -> inb b x -> (Rabs (at40 (B2R x) - IZR g) <= IZR
  s)%R.
Proof. intros H I. destruct (sub_sound _ _ _ H I) as [_ [A B]].
cbn [fst snd] in *. rewrite minus_IZR in A. rewrite plus_IZR in B. apply Rabs_le. lra. Qed.
Lemma picks_pos pk t i : (1 <= i <= t)%nat -> pk i = true -> (0 < picks_to pk t)%nat.
Proof.
  induction t as [|t IH]; intros Hi H; [lia|]. cbn [picks_to].
  destruct (Nat.eq_dec i (S t)) as [->|]; [rewrite H; lia|]. specialize (IH ltac:(lia) H). lia.
Qed.

Lemma out_sound cls t yf y Cs cs Fs z : (t <= T)%nat -> infs yf (counts h cls t) y ->
  Forall2 inv Cs cs -> mapM (fun C => form_sum span (combine yf C)) Cs = Some Fs ->
  times y cs z -> infs Fs (counts h cls t) z.
Proof.
  intros Ht IY IC HP HC. unfold infs. apply mapM_some in HP. unfold times, each_sum in HC.
  revert z HC Fs HP. induction IC as [|C c Cs cs HCc IC IH]; intros z HC Fs HP; inversion HC;
    subst; inversion HP; subst; constructor.
  - eapply (form_sum_sound span (counts h cls t)); [apply counts_in;
      lia| |eassumption|eassumption]. exact (Forall2_combine (fun F y => inf F (counts h cls t) y)
      inb _ _ _ _ IY HCc).
  - apply IH; assumption.
Qed.
Lemma head_sound ex n bh hh th Fs cls xs ys : is_exp ex -> (n <= S T)%nat -> inh bh th ->
  head_forms bh hh = Some Fs ->
  at_places n xs -> by_class n cls xs -> placed n cls -> head_on ex n th xs ys ->
    forall t, (t < n)%nat -> infs Fs (counts h cls t) (ys t).
Proof.
  intros HX Hn [IQ [IK [IV IC]]] HP HA HB HPL [q [k [v [Hqkv Hrow]]]] t Ht.
  unfold head_forms in HP. cbv zeta in HP. destruct (times_box (nth 0 P []) (BK bh)) as [k0|]
    eqn:EK0; [|discriminate].
  destruct (times_box (seen_places hh true) (BK bh)) as [kl|] eqn:EKL; [|discriminate].
  destruct (times_box (seen_places hh false) (BK bh)) as [ku|] eqn:EKU; [|discriminate].
  destruct (times_box (nth 0 P []) (BV bh)) as [v0|] eqn:EV0; [|discriminate].
  destruct (mapM (fun B => times_box B (BV bh)) X) as [vx|] eqn:EVX; [|discriminate].
  destruct (mapM (row_at _ _ _ _ _) _) as [rows|] eqn:ER; [|discriminate].
  set (W := share_of rows) in *. set (e := slack_of rows) in *. set (f := rest_share rows) in *.
  destruct andb eqn:A; [|discriminate].
  apply andb_prop in A as [A1 A2]. rewrite forallb_forall in A1, A2.
  destruct (mapM _ (seq 0 (length (BV bh)))) as [yf|] eqn:EY; [|discriminate].
  assert (N0 : (0 < n)%nat) by lia.
  assert (K0 : inv k0 (k O)) by (eapply times_sound; [apply (HA O N0)|exact IK|exact EK0|apply
    Hqkv; lia]).
  assert (KL : forall i, (1 <= i < n)%nat -> inv (if picks hh i then kl else ku) (k i)).
  { intros i Hi. pose proof (A1 i ltac:(apply in_seq; lia)) as S. destruct (picks hh i).
    - eapply times_sound; [|exact IK|exact EKL|apply Hqkv; lia].
      eapply subs_sound; [exact S|apply HA; lia].
    - eapply times_sound; [|exact IK|exact EKU|apply Hqkv; lia].
      eapply subs_sound; [exact S|apply HA; lia]. }
  assert (V0 : inv v0 (v O)) by (eapply times_sound; [apply (HA O N0)|exact IV|exact EV0|apply
    Hqkv; lia]).
  assert (LV : length vx = length X) by (apply mapM_some in EVX; apply (Forall2_len _ _ _ EVX)).
  assert (VL : forall i, (1 <= i < n)%nat -> (cls i < length X)%nat /\ inv (nth (cls i) vx []) (v
    i)).
  { intros i Hi. destruct (HB i Hi) as [C1 C2]. split; [exact C1|].
    pose proof (mapM_nth _ _ _ (cls i) [] [] EVX C1) as E.
    eapply times_sound; [exact C2|exact IV|exact E|apply Hqkv; lia]. }
  destruct (Hrow t Ht) as [s [w [y [Hs [Hw [Hy HC]]]]]].
  pose proof (mapM_nth _ _ _ t O no_row ER ltac:(rewrite seq_length; lia)) as RA.
  rewrite seq_nth in RA by lia. cbn [Nat.add] in RA.
  assert (RF : row_fits W e f (nth t rows no_row) = true).
  { apply A2, nth_In. apply mapM_some in ER. rewrite (Forall2_len _ _ _ ER), seq_length. lia. }
  unfold row_at in RA. destruct (times_box (nth t P []) (BQ bh)) as [qb|] eqn:EQ; [|discriminate].
  destruct (sum_box (combine qb k0)) as [s0|] eqn:ES0; [|discriminate].
  destruct (sum_box (combine qb kl)) as [sl|] eqn:ESL; [|discriminate].
  destruct (sum_box (combine qb ku)) as [su|] eqn:ESU; [|discriminate]. cbv zeta in RA.
  destruct (shares _ _ _ _ _ _) as [[[w0 wl] wu]|] eqn:EW; [|discriminate].
  apply some_inj in RA. rewrite <- RA in RF. unfold row_fits in RF.
  apply andb_prop in RF as [RF R2]. apply andb_prop in RF as [R1 R3]. apply Z.leb_le, IZR_le in R3.
  assert (Q : inv qb (q t)) by (eapply times_sound; [apply (HA t Ht)|exact IQ|exact EQ|apply Hqkv;
    lia]).
  assert (S0 : inb s0 (s O)) by (eapply sum_box_sound; [exact (Forall2_combine _ _ _ _ _ _ Q
    K0)|exact ES0|apply Hs; lia]).
  assert (SL : forall i, (1 <= i <= t)%nat -> inb (if picks hh i then sl else su) (s i)).
  { intros i Hi. pose proof (KL i ltac:(lia)) as I. destruct (picks hh i).
    - eapply sum_box_sound; [exact (Forall2_combine _ _ _ _ _ _ Q I)|exact ESL|apply Hs; lia].
    - eapply sum_box_sound; [exact (Forall2_combine _ _ _ _ _ _ Q I)|exact ESU|apply Hs; lia]. }
  destruct (shares_sound ex (picks hh) T n t s w s0 sl su w0 wl wu HX ltac:(lia) EW S0 SL Hw) as
    [W0 [WL WN]].
  assert (IY : infs yf (counts h cls t) y).
  { assert (LB : length (BV bh) = length (WV th)) by apply (Forall2_len _ _ _ IV).
    rewrite LB in EY.
    apply mapM_some in EY. unfold each_sum in Hy. unfold infs.
    assert (G : forall l yb y, (forall c, In c l -> In c (seq 0 (length (WV th)))) ->
       Forall2 (fun F c => (let ch := nth c (Channels hh) no_channel in
         let dl := unit_slack hh vx c ch in let '(nl, nh) := span (Number ch) in
         if channel_fits hh vx c ch dl
         then counter_form T (Number ch) W e f (UnitOf ch) dl (largest c vx)
           (2 * grid) (size_of_box (nth c v0 zero_box)) nl nh else None) = Some F) yb l ->
       Forall2 (fun c r => sums (map (fun i => (w i, at_channel c (v i))) (seq 0 n)) r) l y ->
         Forall2 (fun F r => inf F (counts h cls t) r) yb y).
    { intros l. induction l as [|c l IH]; intros yb' y' HI H1 H2; inversion H1; subst;
        inversion H2; subst; constructor.
      2: { eapply IH; eauto. intros; apply HI; now right. }
      clear IH H1 H2. cbv zeta in *. set (ch := nth c (Channels hh) no_channel) in *.
      set (dl := unit_slack hh vx c ch) in *.
      pose proof (counts_in cls t ltac:(lia) (Number ch)) as SP.
      destruct (span (Number ch)) as [nl nh]. cbn [fst snd] in SP.
      destruct (channel_fits hh vx c ch dl) eqn:CF0; [|discriminate].
      unfold channel_fits in CF0. rewrite forallb_forall in CF0.
      assert (CF : forall i, (1 <= i < n)%nat -> (is_own h (Number ch) = true /\
        set_of h (Number ch) (cls i) = None) /\
        (let g := UnitOf ch * step_of h (Number ch) (cls i) in if picks hh i then
          sub (nth c (nth (cls i) vx []) zero_box) (g - dl, g + dl) else
          step_of h (Number ch) (cls i) =? 0) = true).
      { intros i Hi. destruct (VL i Hi) as [C1 _]. specialize (CF0 (cls i) ltac:(apply in_seq;
          lia)). cbv zeta in CF0. rewrite (HPL i Hi) in CF0. fold (picks hh i) in CF0.
        apply andb_prop in CF0 as [Q1 Q2]. apply andb_prop in Q1 as [Q0 Q1].
        split; [split; [exact Q0|destruct (set_of h (Number ch) (cls i));
          [discriminate|reflexivity]]|exact Q2]. }
      match goal with H : counter_form _ _ _ _ _ _ _ _ _ _ _ _ = Some _ |- _ =>
        rename H into EF end.
      pose proof EF as EF'. unfold counter_form in EF'. cbv zeta in EF'. destruct andb eqn:AA in
        EF'; [|discriminate]. clear EF'.
      repeat (apply andb_prop in AA as [AA ?]). repeat match goal with H : (_ <=? _)%Z = true |- _
        => apply Z.leb_le in H end.
      match goal with H : sums _ ?r |- _ => rename H into SS; set (yc := r) in * end.
      destruct (counter_sound (picks hh) T n t W e f (UnitOf ch) dl (largest c vx) (2 * grid)
        (size_of_box (nth c v0 zero_box))
        w (fun i => at_channel c (v i)) (fun i => step_of h (Number ch) (cls i)) yc ltac:(lia)) as
          [Fy Ey]; try assumption.
      - apply W0.
      - eapply abs_in; [|exact W0]. replace (- (2 * grid)) with (-2 * grid) by lia. exact R1.
      - apply size_of_box_sound. apply inv_at. exact V0.
      - intros i Hi. destruct (WL i Hi) as [F1 I]. split; [exact F1|].
        destruct (picks hh i) eqn:EPi.
        + destruct (Nat.eqb_spec (picks_to (picks hh) t) 0) as [E0|];
            [pose proof (picks_pos (picks hh) t i Hi EPi); lia|]. eapply near; [exact R2|exact I].
        + eapply Rle_trans; [exact I|exact R3].
      - intros i Hi. destruct i as [|i]; [apply (inv_at _ _ c V0)|].
        destruct (VL (S i) ltac:(lia)) as [_ I]. apply (inv_at _ _ c I).
      - intros i Hi. destruct (VL i ltac:(lia)) as [C1 I]. pose proof (inv_at _ _ c I) as J. split.
        + eapply Rle_trans; [apply (size_of_box_sound _ _ J)|]. apply IZR_le. apply largest_sound.
          apply nth_In. lia.
        + destruct (CF i ltac:(lia)) as [_ CFi]. cbv zeta in CFi. destruct (picks hh i).
          * eapply near; [exact CFi|exact J].
          * now apply Z.eqb_eq.
      - rewrite <- (counts_count h cls (Number ch) t) in Ey by (intros i Hi;
          apply (CF i ltac:(lia))). eapply counter_form_sound; [exact EF|exact SP|exact Fy|exact
          Ey]. }
    eapply G; [|exact EY|exact Hy]. auto. }
  eapply out_sound; eauto. lia.
Qed.
End Layer.
