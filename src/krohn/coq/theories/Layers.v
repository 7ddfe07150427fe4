(* One layer whose heads count: from classes of letters and counts to the classes after it.
   The MLP is cut where each hidden unit depends on the class or on one group of counters.  Up to
   the cut it is computed for each group, class and count, and counts with one residue are joined;
   behind it the parts of all groups are added, for each class with each list of residues that
   words reach. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax Attention Forms
  Counting Variables Copying.
Import ListNotations.
Open Scope Z_scope.

Record blayer := { BHeads : list bhead; BKeep : list box; BMlps : list (list (list box) * list
  box); BKeepMlp : list box }.
Definition box_layer (l : tlayer) : option blayer :=
  match mapM box_head (Heads l), boxes_of (KeepAttention l), mapM box_affine (Mlps l),
    boxes_of (KeepMlp l) with
  | Some h, Some a, Some m, Some k => Some {| BHeads := h; BKeep := a; BMlps := m; BKeepMlp :=
    k |} | _, _, _, _ => None end.
Definition inl (b : blayer) (l : tlayer) : Prop :=
  Forall2 inh (BHeads b) (Heads l) /\ inv (BKeep b) (KeepAttention l) /\
    Forall2 inw (BMlps b) (Mlps l) /\ inv (BKeepMlp b) (KeepMlp l).
Lemma box_layer_sound l b : box_layer l = Some b -> inl b l.
Proof.
  unfold box_layer. destruct (mapM box_head (Heads l)) eqn:E1; [|discriminate].
  destruct (boxes_of (KeepAttention l)) eqn:E2; [|discriminate].
  destruct (mapM box_affine (Mlps l)) eqn:E3; [|discriminate].
  destruct (boxes_of (KeepMlp l)) eqn:E4; [|discriminate]. intros [= <-].
  repeat split; cbn; eauto using boxes_of_sound; eapply mapM_sound; eauto using box_head_sound,
    box_affine_sound.
Qed.

Lemma inv_from B x : length x = length B -> (forall c, (c < length B)%nat ->
  inb (nth c B zero_box) (nth c x zero)) -> inv B x.
Proof.
  revert x. induction B as [|a B IH]; intros [|y x] L H; try discriminate; [constructor|].
  constructor; [apply (H O); cbn; lia|].
  apply IH; [cbn in L; lia|]. intros c Hc. apply (H (S c)). cbn. lia.
Qed.
Lemma combine_nth_min {A B} (a : list A) (b : list B) da db c : (c < length a)%nat ->
  (c < length b)%nat -> nth c (combine a b) (da, db) = (nth c a da, nth c b db).
Proof. revert b c. induction a as [|x a IH]; intros [|y b] [|c] H1 H2; cbn in *; try lia;
  [reflexivity|]. apply IH; lia. Qed.
(* ---------- the MLP in two parts ---------- *)
Fixpoint hidden (k : nat) (ws : list (matrix * vec)) (x y : vec) : Prop :=
  match k, ws with
  | O, _ => y = x
  | S k, w :: ws => exists z, with_bias x w z /\ hidden k ws (map rectified z) y
  | S _, [] => False
  end.
Definition rest_of (ws : list (matrix * vec)) (x y : vec) : Prop := match ws with [] =>
  y = x | _ => mlp ws (map rectified x) y end.
Lemma mlp_split k : forall ws x y, (k < length ws)%nat -> mlp ws x y ->
  exists u v, hidden k ws x u /\ with_bias u (nth k ws ([], [])) v /\ rest_of (skipn (S k) ws) v y.
Proof.
  induction k as [|k IH]; intros [|w ws] x y Hk H; cbn [length] in Hk; try lia.
  - destruct ws as [|w2 ws]; [exists x, y; cbn; auto|]. destruct H as [z [H1 H2]]. exists x, z.
    cbn. auto.
  - destruct ws as [|w2 ws]; [cbn in Hk; lia|]. destruct H as [z [H1 H2]].
    destruct (IH (w2 :: ws) (map rectified z) y ltac:(cbn in *; lia) H2) as [a [c [A [B C]]]].
    exists a, c. split; [exists z; auto|]. split; [exact B|exact C].
Qed.
Fixpoint hidden_box (k : nat) (ws : list (list (list box) * list box)) (X : list box) : option
  (list box) :=
  match k, ws with
  | O, _ => Some X
  | S k, w :: ws => match bias_box X w with Some Z => hidden_box k ws (map relu_box Z) | None =>
    None end
  | S _, [] => None
  end.
Lemma hidden_sound k : forall Ws ws X x Y y, Forall2 inw Ws ws -> inv X x ->
  hidden_box k Ws X = Some Y -> hidden k ws x y -> inv Y y.
Proof.
  induction k as [|k IH]; intros Ws ws X x Y y HW HX HY H; cbn [hidden_box hidden] in *;
    [injection HY as <-; subst y; exact HX|].
  destruct HW as [|W w Ws ws Hw HW]; [discriminate|]. destruct (bias_box X W) as [Z|] eqn:E;
    [|discriminate]. destruct H as [z [H1 H2]].
  eapply IH; [exact HW| |exact HY|exact H2]. apply relu_sound.
  exact (bias_sound _ _ _ _ _ _ HX Hw E H1).
Qed.
(* the same as forms *)
Fixpoint hidden_forms (span : nat -> Z * Z) (k : nat) (ws : list (list (list box) * list box))
  (Ys : list form) : option (list form) :=
  match k, ws with
  | O, _ => Some Ys
  | S k, w :: ws =>
      match unit_forms span Ys w with Some Us => hidden_forms span k ws Us | None => None end
  | S _, [] => None
  end.
Lemma hidden_forms_sound span n k : within span n -> forall Ws ws Ys y Us u, Forall2 inw Ws ws ->
  infs Ys n y -> hidden_forms span k Ws Ys = Some Us -> hidden k ws y u -> infs Us n u.
Proof.
  intros HS. induction k as [|k IH]; intros Ws ws Ys y Us u HW HY E H;
    cbn [hidden_forms hidden] in *; [injection E as <-; subst u; exact HY|].
  destruct HW as [|W w Ws ws Hw HW]; [discriminate|].
  destruct (unit_forms span Ys W) as [Vs|] eqn:EV; [|discriminate]. destruct H as [z [H1 H2]].
  eapply IH; [exact HW| |exact E|exact H2]. eapply unit_forms_sound; eauto.
Qed.

(* ---------- a sum in parts: each term belongs to one group ---------- *)
Definition masked {A} (z : A) (g : nat) (o : list nat) (c : list A) : list A := map (fun q =>
  if (fst q =? g)%nat then snd q else z) (combine o c).
Lemma masked_inv g o : forall C c, inv C c -> inv (masked zero_box g o C) (masked zero g o c).
Proof.
  unfold masked, inv. induction o as [|i o IH]; intros C c H; cbn; [constructor|].
  destruct H; cbn; constructor; auto. destruct (i =? g)%nat; auto. apply inb_zero.
Qed.
Definition over (l : list nat) (f : nat -> R) : R := fold_right (fun g s => (f g + s)%R) 0%R l.
Lemma over_plus l f g : over l (fun i => (f i + g i)%R) = (over l f + over l g)%R.
Proof. unfold over. induction l; cbn; [lra|]. rewrite IHl. lra. Qed.
Lemma over_same l f g : (forall i, f i = g i) -> over l f = over l g.
Proof. intros H. unfold over. induction l; cbn; congruence. Qed.
Lemma over_null l : over l (fun _ => 0%R) = 0%R.
Proof. unfold over. induction l; cbn; lra. Qed.
Lemma over_one i v a m : over (seq a m) (fun g => if (i =? g)%nat then v else 0%R) = if (a <=?
  i)%nat && (i <? a + m)%nat then v else 0%R.
Proof.
  revert a. induction m as [|m IH]; intros a; cbn [seq over fold_right].
  - destruct (Nat.leb_spec a i), (Nat.ltb_spec i (a + 0)); cbn; try lra; lia.
  - fold (over (seq (S a) m) (fun g => if (i =? g)%nat then v else 0%R)). rewrite IH.
    destruct (Nat.eqb_spec i a), (Nat.leb_spec (S a) i), (Nat.ltb_spec i (S a + m)), (Nat.leb_spec
      a i), (Nat.ltb_spec i (a + S m)); cbn; try lra; lia.
Qed.
Section Parts.
Variable phi : f32 -> f32 -> R.
Hypothesis phi0 : forall x, phi x zero = 0%R.
Definition all_terms (l : list (f32 * f32)) : R := fold_right (fun q s =>
  (phi (fst q) (snd q) + s)%R) 0%R l.
Lemma in_parts G o : forall u c, length u = length o -> Forall (fun g => (g < G)%nat) o ->
  over (seq 0 G) (fun g => all_terms (combine u (masked zero g o c))) = all_terms (combine u c).
Proof.
  induction o as [|i o IH]; intros [|x u] c L H; try discriminate; [apply over_null|].
  inversion H; subst. destruct c as [|y c]; [apply over_null|].
  change (all_terms (combine (x :: u) (y :: c))) with (phi x y + all_terms (combine u c))%R.
  rewrite <- (IH u c) by (auto; cbn in L; lia).
  replace (phi x y) with (over (seq 0 G) (fun g => if (i =? g)%nat then phi x y else 0%R)).
  - rewrite <- over_plus. apply over_same. intros g. unfold masked. cbn [combine map fst snd].
    fold (masked zero g o c). change (all_terms ((x, if (i =? g)%nat then y else zero) :: combine
      u (masked zero g o c)))
      with (phi x (if (i =? g)%nat then y else zero) + all_terms (combine u (masked zero g o
        c)))%R. destruct (i =? g)%nat; [reflexivity|]. now rewrite phi0.
  - rewrite over_one. destruct (Nat.leb_spec 0 i), (Nat.ltb_spec i (0 + G)); cbn; try reflexivity;
      lia.
Qed.
End Parts.
Lemma tot_in_parts G o u c : length u = length o -> Forall (fun g => (g < G)%nat) o ->
  over (seq 0 G) (fun g => tot (combine u (masked zero g o c))) = tot (combine u c).
Proof. apply (in_parts (fun x y => (B2R x * B2R y)%R)). intros x. cbn. ring. Qed.
Lemma size_in_parts G o u c : length u = length o -> Forall (fun g => (g < G)%nat) o ->
  over (seq 0 G) (fun g => Bounds.size (combine u (masked zero g o c))) = Bounds.size (combine u
  c).
Proof. apply (in_parts (fun x y => Rabs (B2R x * B2R y))). intros x. cbn. rewrite Rmult_0_r.
apply Rabs_R0. Qed.
(* how many products are not 0 *)
Definition is_term (x y : f32) : R := if Req_EM_T (B2R x * B2R y) 0 then 0%R else 1%R.
Lemma nz_terms l : all_terms is_term l = INR (nz l).
Proof.
  induction l as [|[x y] l IH]; [reflexivity|].
  cbn [all_terms fold_right nz fst snd]. fold (all_terms is_term l). rewrite IH. unfold is_term.
  destruct Req_EM_T; [lra|]. rewrite S_INR. lra.
Qed.
Lemma terms_in_parts G o u c : length u = length o -> Forall (fun g => (g < G)%nat) o ->
  over (seq 0 G) (fun g => INR (nz (combine u (masked zero g o c)))) = INR (nz (combine u c)).
Proof.
  intros L H. rewrite <- nz_terms, <- (in_parts is_term) with (G := G) (o := o); auto.
  - apply over_same. intros g. now rewrite nz_terms.
  - intros x. unfold is_term. cbn [B2R zero]. destruct Req_EM_T as [|N]; [reflexivity|].
    exfalso. apply N. ring.
Qed.

(* for each sum the part of a group: low, high, size, how many terms; and the channels before the
   MLP *)
Definition part := (Z * Z * Z * Z)%type.
Definition no_part : part := (0, 0, 0, 0).
Definition piece := (list part * list box)%type.
Definition no_piece : piece := ([], []).
Definition plus_part (a b : part) : part :=
  let '(l, h, s, n) := a in let '(l', h', s', n') := b in (l + l', h + h', s + s', n + n').
Definition join_part (a b : part) : part := let '(l, h, s, n) := a in let '(l', h', s', n') := b in
  (Z.min l l', Z.max h h', Z.max s s', Z.max n n').
Definition in_part (a b : part) : bool := let '(l, h, s, n) := a in let '(l', h', s', n') := b in
  (l' <=? l) && (h <=? h') && (s <=? s') && (n <=? n').
Definition join (a b : piece) : piece := (map (fun q => join_part (fst q) (snd q)) (combine (fst a)
  (fst b)), hulls (snd a) (snd b)).
Definition in_piece (a b : piece) : bool :=
  (length (fst a) =? length (fst b))%nat && forallb (fun q => in_part (fst q) (snd q)) (combine
    (fst a) (fst b)) && subs (snd a) (snd b).
Definition bounds (a : part) (x y k : R) : Prop := let '(l, h, s, n) := a in
  (IZR l <= at80 x <= IZR h)%R /\ (at80 y <= IZR s)%R /\ (k <= IZR n)%R.
Definition bounds_sum (a : part) (l : list (f32 * f32)) : Prop :=
  bounds a (tot l) (Bounds.size l) (INR (nz l)).
Lemma in_part_sound a b x y k : in_part a b = true -> bounds a x y k -> bounds b x y k.
Proof.
  destruct a as [[[l h] s] n], b as [[[l' h'] s'] n']. unfold in_part, bounds. intros H [A [B C]].
  apply andb_prop in H as [H H4]. apply andb_prop in H as [H H3]. apply andb_prop in H as [H1 H2].
  apply Z.leb_le, IZR_le in H1, H2, H3, H4. lra.
Qed.
(* the sum of products of forms and weights *)
Definition part_of (span : nat -> Z * Z) (Us : list form) (C : list box) : part :=
  let l := combine Us C in let '(cs, lo, hi, s) := form_tot span l [] 0 0 0 in
  let '(a, z) := dot_range cs span in (lo + a, hi + z, s, Z.of_nat (nonzero_forms l)).
Lemma part_of_sound span n Us u C c : within span n -> infs Us n u -> inv C c ->
  bounds_sum (part_of span Us C) (combine u c).
Proof.
  intros HS HU HC. unfold part_of. cbv zeta.
  pose proof (Forall2_combine (fun F y => inf F n y) inb _ _ _ _ HU HC) as HF.
  destruct (form_tot span (combine Us C) [] 0 0 0) as [[[cs lo] hi] s] eqn:E.
  destruct (form_tot_sound span n HS _ _ _ _ _ _ _ _ _ _ 0 0 HF E) as [B1 B2];
    [unfold at80; cbn; lra|unfold at80; cbn; lra|]. rewrite Rplus_0_l in B1, B2.
  pose proof (dot_range_sound cs span n HS) as D. destruct (dot_range cs span) as [a z].
  cbn [fst snd] in D. destruct D as [D1 D2]. apply IZR_le in D1, D2.
  split; [rewrite !plus_IZR in *; lra|]. split; [exact B2|].
  rewrite <- INR_IZR_INZ. apply le_INR. exact (nonzero_forms_sound n _ _ HF).
Qed.
Lemma forallb_combine {A B} (f : A * B -> bool) a b da db : length a = length b ->
  forallb f (combine a b) = true -> forall i, (i < length a)%nat -> f (nth i a da, nth i b db) =
  true.
Proof.
  revert b. induction a as [|x a IH]; intros [|y b] L H i Hi; cbn in *; try lia.
  apply andb_prop in H as [H1 H2]. destruct i as [|i]; [exact H1|]. apply IH; auto; lia.
Qed.

Section Layer.
Variables (p T : nat) (P X : list (list box)) (h : layer_hint) (b : blayer) (l : tlayer).
Hypothesis in_l : inl b l.
Notation span := (span T h).
Definition all_heads : option (list (list form)) :=
  if (length (BHeads b) =? length (HeadHints h))%nat then mapM (fun q =>
    match snd q with Counts c => head_forms p T P X h (fst q) c | _ => None end)
    (combine (BHeads b) (HeadHints h)) else None.
Definition zero_form : form := constant zero_box.
Definition mixed (hs : list (list form)) (B : list box) : option (list form) :=
  mapM (fun c => form_sum span ((constant (nth c B zero_box), nth c (BKeep b) zero_box) :: map
    (fun H => (nth c H zero_form, one_box)) hs)) (seq 0 (length (BKeep b))).
Definition kept (y z : list box) : option (list box) :=
  mapM (fun c => sum_box [(nth c y zero_box, nth c (BKeepMlp b) zero_box); (nth c z zero_box,
    one_box)]) (seq 0 (length (BKeepMlp b))).
Lemma Forall2_same {A} (R : A -> A -> Prop) l0 : (forall a, R a a) -> Forall2 R l0 l0. Proof.
intros. induction l0; constructor; auto. Qed.
Lemma kept_sound Y y Z0 z W w : inv Y y -> inv Z0 z -> kept Y Z0 = Some W ->
  each_sum (fun c => [(at_channel c y, at_channel c (KeepMlp l)); (at_channel c z, one)]) (seq 0
    (length (KeepMlp l))) w -> inv W w.
Proof.
  intros HY HZ E H. destruct in_l as [_ [_ [_ I4]]]. eapply each_sum_sound; [|exact E|exact H].
  rewrite (Forall2_len _ _ _ I4). apply Forall2_same. intros c.
  constructor; [split; apply inv_at; assumption|]. constructor; [|constructor].
  split; [now apply inv_at|apply inb_one].
Qed.
Lemma infs_at F n x c : infs F n x -> inf (nth c F zero_form) n (at_channel c x).
Proof. intros H. apply (Forall2_at (fun f y => inf f n y)); auto. apply constant_sound, inb_zero.
Qed.
Lemma heads_sound ex n cls xs hs Hs : is_exp ex -> (n <= S T)%nat -> all_heads = Some Hs ->
  at_places P n xs -> by_class X n cls xs -> placed p h n cls ->
  Forall2 (fun th => head_on ex n th xs) (Heads l) hs -> forall t, (t < n)%nat ->
    Forall2 (fun H hd => infs H (counts h cls t) (hd t)) Hs hs.
Proof.
  intros HX Hn HR HA HB HP HH t Ht. destruct in_l as [I1 _]. unfold all_heads in HR.
  destruct (Nat.eqb_spec (length (BHeads b)) (length (HeadHints h))) as [E|]; [|discriminate].
  apply mapM_some in HR. revert Hs HR hs HH E. generalize (HeadHints h) as hints.
  induction I1 as [|bh th bhs ths Hb I1 IH]; intros hints Hs HR hs HH E.
  - cbn in HR. inversion HR; subst. inversion HH; subst. constructor.
  - destruct hints as [|hh hints]; [discriminate|]. cbn [combine] in HR.
    inversion HR as [|r q rs' ps' Hr HR']; subst.
    inversion HH as [|th1 h1 ths1 hs' H2 HH']; subst. cbn [fst snd] in Hr.
    constructor; [|eapply IH; eauto]. destruct hh; try discriminate. eapply head_sound; eauto.
Qed.
Lemma mixed_sound cls xs hs Hs t B Ys y : (t <= T)%nat -> Forall2 (fun H hd =>
  infs H (counts h cls t) (hd t)) Hs hs -> inv B (xs t) -> mixed Hs B = Some Ys ->
  each_sum (fun c => (at_channel c (xs t), at_channel c (KeepAttention l)) :: map (fun hd =>
    (at_channel c (hd t), one)) hs) (seq 0 (length (KeepAttention l))) y ->
  infs Ys (counts h cls t) y.
Proof.
  intros Ht HH HB HM HY. destruct in_l as [_ [I2 _]]. unfold mixed in HM.
  rewrite (Forall2_len _ _ _ I2) in HM. apply mapM_some in HM. unfold infs. unfold each_sum in HY.
  revert Ys HM y HY. induction (seq 0 (length (KeepAttention l))) as [|c cs IH];
    intros Ys HM y HY; inversion HM; subst; inversion HY; subst; constructor; auto.
  eapply (form_sum_sound span (counts h cls t)); [apply counts_in;
    exact Ht| |eassumption|eassumption].
  constructor; [split; [apply constant_sound; now apply inv_at|now apply inv_at]|]. clear -HH.
  induction HH; cbn; constructor; auto. cbn [fst snd]. split; [now apply infs_at|apply inb_one].
Qed.

(* ---------- pieces: for each group, in each of its coarse classes, for each count ---------- *)
Definition next_matrix : list (list box) * list box := nth (Cut h) (BMlps b) ([], []).
(* after one matrix hidden units are forms of the channels, since errors that units share must
   cancel; after more of them boxes, which are faster and have been enough *)
Definition units_of (Y : list box) : option (list form) :=
  if (Cut h =? 1)%nat
  then hidden_forms (spread Y) (Cut h) (BMlps b) (map variable (seq 0 (length Y)))
  else option_map (map constant) (hidden_box (Cut h) (BMlps b) Y).
Definition piece_of (cols : list (list box)) (Y : list box) : option piece :=
  match units_of Y with
  | Some H => if (length H =? length (Owner h))%nat
              then let span := spread Y in Some (map (part_of span H) cols, Y) else None
  | None => None end.
Definition coarse_box (g : group) (c : nat) : list box := hull_of (map (fun k =>
  nth k X []) (filter (fun k => (nth k (Coarse g) O =? c)%nat) (seq 0 (length X)))).
Definition steps_of (g : group) : list Z := map (step_in h g) (seq 0 (length X)).
Definition sets_of (g : group) : list (option Z) := map (set_in h g) (seq 0 (length X)).
Definition counts_of (g : group) : list Z :=
  let '(lo, hi) := sets_from (sets_of g) in
  let a := lo + Z.of_nat T * fold_right Z.min 0 (steps_of g) in let z :=
    hi + Z.of_nat T * fold_right Z.max 0 (steps_of g) in map (fun i =>
    a + Z.of_nat i) (seq 0 (Z.to_nat (z - a + 1))).
Definition collected (g : group) (ps : list (Z * piece)) : list (option piece) :=
  map (fun r => fold_left (fun a q => if reduced g (fst q) =? Z.of_nat r then match a with None =>
    Some (snd q) | Some a => Some (join a (snd q)) end else a) ps None) (seq 0 (Z.to_nat (Modulus
    g))).
Definition one_table (hs : list (list form)) (i : nat) (g : group) (c : nat) : option (list
  (option piece)) :=
  let B := coarse_box g c in let cols := map (masked zero_box i (Owner h)) (fst next_matrix) in
  match mixed hs B with None => None | Some Ys =>
  match mapM (fun z => match piece_of cols (map (fun F => view_box F (Weights g) z span) Ys) with
    Some q => Some (z, q) | None => None end) (counts_of g) with None => None | Some ps =>
  let tb := collected g ps in
  if forallb (fun q => match nth (Z.to_nat (reduced g (fst q))) tb None with Some a =>
    in_piece (snd q) a | None => false end) ps &&
     forallb (fun k => negb (nth k (Coarse g) O =? c)%nat || subs (nth k X []) B) (seq 0 (length
       X))
  then Some tb else None end end.
Definition tables (hs : list (list form)) : option (list (list (list (option piece)))) :=
  mapM (fun i => mapM (one_table hs i (group_at h i)) (seq 0 (Coarses (group_at h i))))
    (seq 0 (length (Groups h))).
Definition sizes_fit : bool :=
  (Cut h <? length (BMlps b))%nat && forallb (fun g => (g <? length (Groups h))%nat) (Owner h) &&
    forallb (fun g => (g <? length (Groups h))%nat) (OwnerY h) &&
  negb (length (Groups h) =? 0)%nat && ((length (Rules h) =? 0)%nat && rises h) &&
  forallb (fun g => forallb (fun k =>
    (nth k (Coarse g) O <? Coarses g)%nat) (seq 0 (length X))) (Groups h).

(* what is known of a piece, for the numbers before the MLP and the hidden units *)
Definition good (i : nat) (u y : vec) (a : piece) : Prop :=
  (forall c, (c < length (fst (nth (Cut h) (Mlps l) ([], []))))%nat -> let C :=
    nth c (fst (nth (Cut h) (Mlps l) ([], []))) [] in
     bounds_sum (nth c (fst a) no_part) (combine u (masked zero i (Owner h) C))) /\
  (forall c, inb (nth c (snd a) zero_box) (at_channel c y)).
Lemma next_matrix_in : inw next_matrix (nth (Cut h) (Mlps l) ([], [])).
Proof. destruct in_l as [_ [_ [I3 _]]]. unfold next_matrix. apply (Forall2_at inw); auto.
split; constructor. Qed.
Definition usable (u : vec) : Prop := length u = length (Owner h) /\ Forall (fun x =>
  is_finite x = true) u.
Lemma units_sound Y y u Us : hidden (Cut h) (Mlps l) y u -> inv Y y -> units_of Y = Some Us ->
  infs Us (floors y) u.
Proof.
  intros HU HY E. destruct in_l as [_ [_ [I3 _]]]. unfold units_of in E.
  destruct (Cut h =? 1)%nat.
  - eapply hidden_forms_sound; [apply floors_within; exact HY|exact I3| |exact E|exact HU].
    now apply variables_sound.
  - destruct (hidden_box (Cut h) (BMlps b) Y) as [H|] eqn:EH; [|discriminate].
    injection E as <-. pose proof (hidden_sound _ _ _ _ _ _ _ I3 HY EH HU) as HI. unfold infs.
    clear -HI. induction HI; cbn; constructor; auto. now apply constant_sound.
Qed.
Lemma piece_good i Y y u q : hidden (Cut h) (Mlps l) y u -> inv Y y ->
  piece_of (map (masked zero_box i (Owner h)) (fst next_matrix)) Y = Some q -> good i u y q /\
  usable u.
Proof.
  intros HU HY E. unfold piece_of in E. destruct (units_of Y) as [H|] eqn:EH; [|discriminate].
  destruct (Nat.eqb_spec (length H) (length (Owner h))) as [L|]; [|discriminate].
  apply some_inj in E. subst q.
  pose proof (units_sound Y y u H HU HY EH) as HI.
  split; [|split; [rewrite <- (Forall2_len _ _ _ HI); exact L|clear -HI; induction HI as [|? ? ? ?
    I]; constructor; [apply I|assumption]]].
  destruct next_matrix_in as [IM _]. split; cbn [fst snd]; [|intros c; now apply inv_at].
  intros c Hc. cbv zeta. pose proof (Forall2_len _ _ _ IM) as LM. rewrite map_map.
  rewrite (nth_map _ _ c []) by lia.
  pose proof (Forall2_at inv _ _ [] [] ltac:(constructor) IM c) as IC.
  eapply part_of_sound; [apply floors_within; exact HY|exact HI|now apply masked_inv].
Qed.
Lemma in_piece_good i u y a c : in_piece a c = true -> length (fst a) = length (fst (nth (Cut h)
  (Mlps l) ([], []))) -> good i u y a -> good i u y c.
Proof.
  unfold in_piece. intros H L [G1 G2]. apply andb_prop in H as [H H3].
  apply andb_prop in H as [H1 H2]. apply Nat.eqb_eq in H1. split.
  - intros j Hj. specialize (G1 j Hj). cbv zeta in *. eapply in_part_sound; [|exact G1].
    exact (forallb_combine _ _ _ no_part no_part H1 H2 j ltac:(lia)).
  - intros j. unfold subs in H3. apply andb_prop in H3 as [L2 H3]. apply Nat.eqb_eq in L2.
    destruct (le_lt_dec (length (snd a)) j) as [O|O].
    + specialize (G2 j). rewrite nth_overflow in G2 by exact O. rewrite nth_overflow by lia.
      exact G2.
    + eapply sub_sound; [|exact (G2 j)]. exact (forallb_combine _ _ _ zero_box zero_box L2 H3 j O).
Qed.
Lemma mapM_in {A B} (f : A -> option B) l0 r a : mapM f l0 = Some r -> In a l0 ->
  exists y, f a = Some y /\ In y r.
Proof. intros E. apply mapM_some in E. induction E; intros []; [subst; eexists; split;
  [eassumption|now left]|]. destruct IHE as [y' [? ?]]; auto. exists y'. split; auto. now right.
Qed.
Lemma mapM_len {A B} (f : A -> option B) l0 r : mapM f l0 = Some r -> length r = length l0.
Proof. intros E. apply mapM_some in E. apply (Forall2_len _ _ _ E). Qed.
Lemma between s x : In x s -> fold_right Z.min 0 s <= x <= fold_right Z.max 0 s.
Proof. induction s as [|y s IH]; intros []; cbn [fold_right]; [subst; lia|]. specialize (IH H).
lia. Qed.
Lemma around_zero s : fold_right Z.min 0 s <= 0 <= fold_right Z.max 0 s.
Proof. induction s; cbn; lia. Qed.
Lemma counts_of_in cls g t : together h g = true -> (t <= T)%nat -> (forall i, (1 <= i <= t)%nat
  -> (cls i < length X)%nat) -> In (counted h cls g t) (counts_of g).
Proof.
  intros HT Ht HC. unfold counts_of. pose proof (sets_from_zero (sets_of g)) as S0.
  pose proof (fun v => sets_from_sound (sets_of g) v) as SS.
  destruct (sets_from (sets_of g)) as [lo hi]. cbn [fst snd] in *.
  cbv zeta. set (s := steps_of g). pose proof (around_zero s).
  assert (B : forall m, (m <= t)%nat -> lo + Z.of_nat m * fold_right Z.min 0 s <= counted h cls g
    m <= hi + Z.of_nat m * fold_right Z.max 0 s).
  { induction m as [|m IH]; intros Hm; [change (counted h cls g 0) with (dot (Weights g) (fun _ =>
      0)); rewrite dot_zero; lia|]. specialize (IH ltac:(lia)). rewrite counted_next by exact HT.
    unfold moved_in.
    assert (C : In (cls (S m)) (seq 0 (length X))) by (apply in_seq;
      specialize (HC (S m) ltac:(lia)); lia).
    pose proof (in_map (set_in h g) _ _ C) as CS. pose proof (in_map (step_in h g) _ _ C) as I.
    apply between in I. fold (steps_of g) in I. fold s in I.
    destruct (set_in h g (cls (S m))) as [v|]; [specialize (SS v CS); nia|nia]. }
  specialize (B t ltac:(lia)). set (a := lo + Z.of_nat T * fold_right Z.min 0 s).
  set (z := hi + Z.of_nat T * fold_right Z.max 0 s).
  assert (a <= counted h cls g t <= z) by (unfold a, z; nia). apply in_map_iff.
  exists (Z.to_nat (counted h cls g t - a)). split; [lia|]. apply in_seq. lia.
Qed.
Definition entry (tb : list (list (list (option piece)))) (k : nat) (rs : list Z) (i : nat) :
  option piece :=
  nth (Z.to_nat (nth i rs 0)) (nth (nth k (Coarse (group_at h i)) O) (nth i tb []) []) None.
Lemma entry_good cls xs hs Hs t tb y u i : (t <= T)%nat -> Forall2 (fun H hd =>
  infs H (counts h cls t) (hd t)) Hs hs -> (1 <= t)%nat -> (forall i, (1 <= i <= t)%nat ->
  (cls i < length X)%nat) -> inv (nth (cls t) X []) (xs t) ->
  each_sum (fun c => (at_channel c (xs t), at_channel c (KeepAttention l)) :: map (fun hd =>
    (at_channel c (hd t), one)) hs) (seq 0 (length (KeepAttention l))) y ->
  hidden (Cut h) (Mlps l) y u -> sizes_fit = true -> tables Hs = Some tb ->
    (i < length (Groups h))%nat ->
  exists a, entry tb (cls t) (residues h cls t) i = Some a /\ good i u y a /\ usable u.
Proof.
  intros Ht HH H1t HCs HX Hy Hu SF ET Hi. pose proof (HCs t ltac:(lia)) as HC. unfold entry.
  rewrite residues_at by exact Hi. unfold sizes_fit in SF. apply andb_prop in SF as [SF0 SF].
  apply andb_prop in SF0 as [_ SF0]. apply andb_prop in SF0 as [SF1 SF0].
  rewrite forallb_forall in SF. apply Nat.eqb_eq, length_zero_iff_nil in SF1.
  set (g := group_at h i) in *. destruct (rises_own h i SF0 Hi) as [_ [TG _]].
  { unfold is_own, rule_said. rewrite SF1. now destruct i. }
  fold g in TG. pose proof (SF g ltac:(apply nth_In; exact Hi)) as S2.
  rewrite forallb_forall in S2. specialize (S2 (cls t) ltac:(apply in_seq; lia)).
  apply Nat.ltb_lt in S2.
  set (c := nth (cls t) (Coarse g) O) in *. unfold tables in ET.
  pose proof (mapM_nth _ _ _ i O [] ET ltac:(rewrite seq_length; exact Hi)) as E1.
  rewrite seq_nth in E1 by exact Hi. cbn [Nat.add] in E1. fold g in E1.
  pose proof (mapM_nth _ _ _ c O [] E1 ltac:(rewrite seq_length; exact S2)) as E2.
  rewrite seq_nth in E2 by exact S2. cbn [Nat.add] in E2.
  set (row := nth c (nth i tb []) []) in *. unfold one_table in E2. cbv zeta in E2.
  destruct (mixed Hs (coarse_box g c)) as [Ys|] eqn:EM; [|discriminate].
  destruct (mapM _ (counts_of g)) as [ps|] eqn:EP; [|discriminate]. destruct andb eqn:A in E2;
    [|discriminate]. apply some_inj in E2. rewrite E2 in A. apply andb_prop in A as [A1 A2].
  rewrite forallb_forall in A1, A2. specialize (A2 (cls t) ltac:(apply in_seq; lia)).
  fold c in A2. rewrite Nat.eqb_refl in A2. cbn in A2.
  assert (IB : inv (coarse_box g c) (xs t)) by (eapply subs_sound; [exact A2|exact HX]).
  pose proof (mixed_sound cls xs hs Hs t _ Ys y Ht HH IB EM Hy) as IY.
  set (z := counted h cls g t) in *.
  assert (IV : inv (map (fun F => view_box F (Weights g) z span) Ys) y).
  { clear -IY Ht. unfold infs in IY. unfold inv. induction IY as [|F x Fs xs0 HF IY IH]; cbn;
      constructor; auto.
    eapply view_box_sound; [apply (counts_in T h cls t Ht)|reflexivity|exact HF]. }
  destruct (mapM_in _ _ _ z EP (counts_of_in cls g t TG Ht HCs)) as [[z' q] [E3 I3]].
  destruct (piece_of _ _) as [q'|] eqn:EQ; [|discriminate]. injection E3 as <- <-.
  specialize (A1 _ I3). cbn [fst snd] in A1. destruct (nth (Z.to_nat (reduced g z)) row None) as
    [a|] eqn:ER; [|discriminate].
  exists a. split; [reflexivity|]. destruct (piece_good i _ y u _ Hu IV EQ) as [G1 G2].
  split; [|exact G2]. eapply in_piece_good; [exact A1| |exact G1].
  unfold piece_of in EQ. destruct (units_of _); [|discriminate]. destruct (_ =? _)%nat;
    [|discriminate]. apply some_inj in EQ. subst q'. cbn [fst]. rewrite !map_length.
  apply (Forall2_len _ _ _ (proj1 next_matrix_in)).
Qed.

(* ---------- the rest of the layer, for a class and residues ---------- *)
Definition of_bias (b : box) : part := (fst b * grid, snd b * grid, size_of_box b * grid, 0).
Definition before_rest (ps : list piece) : option (list box) :=
  mapM (fun c => let bias := nth c (snd next_matrix) zero_box in
         let '(lo, hi, s, n) := fold_right (fun q a => plus_part (nth c (fst q) no_part) a)
           (of_bias bias) ps in widened (Z.of_nat (S (Z.to_nat n))) lo hi s)
       (seq 0 (length (combine (fst next_matrix) (snd next_matrix)))).
Definition channels_of (ps : list piece) : list box := map (fun c =>
  nth c (snd (nth (nth c (OwnerY h) O) ps no_piece)) zero_box) (seq 0 (length (BKeep b))).
Definition rest_box (ws : list (list (list box) * list box)) (v : list box) : option (list box) :=
  match ws with [] => Some v | _ => mlp_box ws (map relu_box v) end.
Lemma rest_sound Ws ws V v Z0 z : Forall2 inw Ws ws -> inv V v -> rest_box Ws V = Some Z0 ->
  rest_of ws v z -> inv Z0 z.
Proof.
  intros HW HV E H. unfold rest_box in E. unfold rest_of in H. destruct HW as [|W w Ws ws Hw HW];
    [apply some_inj in E; subst; exact HV|].
  eapply mlp_sound; [constructor; [exact Hw|exact HW]|apply relu_sound; exact HV|exact E|exact H].
Qed.
Definition completed (ps : list piece) : option (list box) :=
  match before_rest ps with None => None | Some v =>
  match rest_box (skipn (S (Cut h)) (BMlps b)) v with None => None | Some z =>
    kept (channels_of ps) z end end.
Lemma before_rest_sound ps u y v W : length ps = length (Groups h) ->
  (forall i, (i < length (Groups h))%nat -> good i u y (nth i ps no_piece)) -> usable u ->
  Forall (fun g => (g < length (Groups h))%nat) (Owner h) -> before_rest ps = Some W ->
  with_bias u (nth (Cut h) (Mlps l) ([], [])) v -> inv W v.
Proof.
  intros LP HG [LU FU] HO E H. destruct next_matrix_in as [IM IB].
  set (w := nth (Cut h) (Mlps l) ([], [])) in *. unfold before_rest in E.
  unfold with_bias, each_sum in H.
  pose proof (Forall2_combine _ _ _ _ _ _ IM IB) as IC. pose proof (Forall2_len _ _ _ IC) as LC.
  rewrite LC in E.
  assert (LV : length (combine (fst w) (snd w)) = length v) by apply (Forall2_len _ _ _ H).
  apply inv_from.
  { rewrite (mapM_len _ _ _ E), seq_length. congruence. }
  intros c Hc. rewrite (mapM_len _ _ _ E), seq_length in Hc.
  pose proof (mapM_nth _ _ _ c O zero_box E ltac:(rewrite seq_length; exact Hc)) as EC.
  rewrite seq_nth in EC by exact Hc. cbn [Nat.add] in EC. cbv zeta in EC.
  assert (HS : sums (combine u (nth c (fst w) []) ++ [(nth c (snd w) zero, one)]) (nth c v zero)).
  { assert (G : forall (A B : Type) (R : A -> B -> Prop) a d da db, Forall2 R a d ->
      forall i, (i < length a)%nat -> R (nth i a da) (nth i d db)).
    { intros A B R a d da db F. induction F; intros [|i] Hi; cbn in *; try lia; auto. apply IHF.
      lia. }
    pose proof (G _ _ _ _ _ ([], zero) zero H c Hc) as S. cbn beta in S.
    rewrite combine_length in Hc.
    apply Nat.min_glb_lt_iff in Hc as [Hc1 Hc2]. rewrite combine_nth_min in S by assumption.
    exact S. }
  assert (Hc1 : (c < length (fst w))%nat) by (rewrite combine_length in Hc;
    apply Nat.min_glb_lt_iff in Hc as [? _]; assumption).
  set (C := nth c (fst w) []) in *. set (bb := nth c (snd w) zero) in *.
  assert (Ib : inb (nth c (snd next_matrix) zero_box) bb) by (apply (Forall2_at inb);
    [apply inb_zero|exact IB]).
  assert (IC2 : inv (nth c (fst next_matrix) []) C) by (apply (Forall2_at inv);
    [constructor|exact IM]).
  set (B := nth c (snd next_matrix) zero_box) in *.
  set (part_at := fun i => combine u (masked zero i (Owner h) C)).
  assert (Sum : bounds (fold_right (fun q a => plus_part (nth c (fst q) no_part) a) (of_bias B) ps)
     (over (seq 0 (length ps)) (fun i => tot (part_at i)) + B2R bb)%R
     (over (seq 0 (length ps)) (fun i => Bounds.size (part_at i)) + Rabs (B2R bb))%R
     (over (seq 0 (length ps)) (fun i => INR (nz (part_at i))))).
  { assert (K : forall qs a, (forall i, (i < length qs)%nat -> good (a + i) u y (nth i qs
      no_piece)) ->
      bounds (fold_right (fun q a => plus_part (nth c (fst q) no_part) a) (of_bias B) qs)
      (over (seq a (length qs)) (fun i => tot (part_at i)) + B2R bb)%R
      (over (seq a (length qs)) (fun i => Bounds.size (part_at i)) + Rabs (B2R bb))%R
      (over (seq a (length qs)) (fun i => INR (nz (part_at i))))).
    { induction qs as [|q qs IHq]; intros a HQ; cbn [fold_right length seq over].
      - pose proof (size_of_box_sound _ _ Ib) as SB. destruct Ib as [_ Ib].
        unfold bounds, of_bias, at80, at40 in *. pose proof grid_pos as GP.
        rewrite !mult_IZR, !Rplus_0_l.
        rewrite Rabs_mult, (Rabs_pos_eq (IZR grid)) in SB by lra.
        repeat split; try (apply Rmult_le_compat_r; lra). lra.
      - specialize (IHq (S a) ltac:(intros i Hi; specialize (HQ (S i) ltac:(cbn; lia));
          replace (S a + i)%nat with (a + S i)%nat by lia; exact HQ)).
        fold (over (seq (S a) (length qs)) (fun i => tot (part_at i)))
          (over (seq (S a) (length qs)) (fun i => Bounds.size (part_at i)))
          (over (seq (S a) (length qs)) (fun i => INR (nz (part_at i)))).
        destruct (fold_right _ _ qs) as [[[lo hi] s] m].
        destruct (HQ O ltac:(cbn; lia)) as [Q _].
        rewrite Nat.add_0_r in Q. specialize (Q c Hc1). cbv zeta in Q. fold w in Q. fold C in Q.
        cbn [nth] in Q. change (bounds_sum (nth c (fst q) no_part) (part_at a)) in Q.
        destruct (nth c (fst q) no_part) as [[[l' h'] s'] m'].
        unfold bounds_sum, bounds, plus_part, at80 in *. rewrite !plus_IZR. nra. }
    apply (K ps O). intros i Hi. cbn [Nat.add]. apply HG. lia. }
  unfold part_at in Sum.
  rewrite LP, tot_in_parts, size_in_parts, terms_in_parts in Sum by assumption.
  destruct (fold_right _ _ ps) as [[[lo hi] s] m]. destruct Sum as [S1 [S2 S3]].
  destruct one_is as [F1 R1].
  eapply (widened_sound (S (Z.to_nat m))); [exact HS| | | | |exact EC].
  - unfold all_finite. apply Forall_app. split; [|constructor; [split;
      [apply Ib|exact F1]|constructor]].
    clear -FU IC2. revert FU. generalize u. clear u. induction IC2 as [|cb cv CB CV Hc0 IC IH];
      intros [|x u] FU; cbn; try constructor. { inversion FU; subst.
    split; [assumption|apply Hc0]. } apply IH. now inversion FU.
  - rewrite nz_app. pose proof (nz_le [(bb, one)]). cbn [length] in *.
    rewrite INR_IZR_INZ in S3. apply le_IZR in S3. lia.
  - rewrite tot_app. cbn [tot fold_right fst snd]. rewrite R1, Rmult_1_r, Rplus_0_r. exact S1.
  - rewrite size_app. cbn [Bounds.size fold_right fst snd]. rewrite R1, Rmult_1_r, Rplus_0_r.
    exact S2.
Qed.
Definition residues_at_class (k : nat) : list (list Z) :=
  filter (allowed h k) (map fst (nth k (NextClass h) [])).
Definition outcomes (tb : list (list (list (option piece)))) : option (list (list (nat * list
  box))) :=
  mapM (fun q => let '(k, rs) := q in match mapM (entry tb k rs) (seq 0 (length (Groups h))) with
        | None => Some []                                            (* no word leads there *)
        | Some ps => match completed ps with Some Y => Some [(next_class h k rs, Y)] | None =>
          None end end)
       (flat_map (fun k => map (pair k) (residues_at_class k)) (seq 0 (length X))).
Definition gathered (os : list (list (nat * list box))) : list (list box) :=
  let l := concat os in map (fun k => hull_of (map snd (filter (fun o =>
    (fst o =? k)%nat) l))) (seq 0 (NextClasses h)).
Definition lies_in (X' : list (list box)) (os : list (list (nat * list box))) : bool :=
  forallb (fun o => (fst o <? length X')%nat && subs (snd o) (nth (fst o) X' [])) (concat os).
Lemma residues_in cls t : (next_classes h cls t < NextClasses h)%nat ->
  In (residues h cls t) (residues_at_class (cls t)).
Proof.
  intros K. apply filter_In. split; [exact (found_in _ _ _ K)|now apply Nat.ltb_lt].
Qed.
Lemma mapM_exists {A B} (f : A -> option B) l0 : (forall a, In a l0 -> exists y, f a = Some y) ->
  exists r, mapM f l0 = Some r.
Proof.
  induction l0 as [|a l0 IH]; intros H; [exists []; reflexivity|].
  destruct (H a ltac:(now left)) as [y E]. destruct IH as [r R]; [intros; apply H; now right|].
  exists (y :: r). cbn. now rewrite E, R.
Qed.
Lemma classes_sound ex n cls xs ys Hs tb os X' : is_exp ex -> (n <= S T)%nat ->
  all_heads = Some Hs -> sizes_fit = true -> tables Hs = Some tb -> outcomes tb = Some os ->
  lies_in X' os = true -> at_places P n xs -> by_class X n cls xs -> placed p h n cls ->
  (forall t, (1 <= t < n)%nat -> (next_classes h cls t < NextClasses h)%nat) ->
    layer_on ex n l xs ys -> by_class X' n (next_classes h cls) ys.
Proof.
  intros HX Hn HR SF HT HO HLI HA HB HP HN [hs [HH HL]] t Ht.
  destruct (HL t ltac:(lia)) as [y [z [Hy [Hz Ho]]]]. destruct (HB t Ht) as [C1 C2].
  pose proof (heads_sound ex n cls xs hs Hs HX Hn HR HA HB HP HH t ltac:(lia)) as HF.
  pose proof SF as SF'. unfold sizes_fit in SF'. repeat (apply andb_prop in SF' as [SF' ?]).
  apply Nat.ltb_lt in SF'.
  match goal with H : negb _ = true |- _ => apply negb_true_iff, Nat.eqb_neq in H;
    rename H into G0 end.
  match goal with H : forallb _ (OwnerY h) = true |- _ => rewrite forallb_forall in H;
    rename H into OY end.
  match goal with H : forallb _ (Owner h) = true |- _ => rewrite forallb_forall in H;
    rename H into OW end.
  destruct in_l as [I1 [I2 [I3 I4]]]. rewrite (Forall2_len _ _ _ I3) in SF'.
  destruct (mlp_split (Cut h) (Mlps l) y z SF' Hz) as [u [v [Hu [Hv Hr]]]].
  assert (EG : forall i, (i < length (Groups h))%nat -> exists a, entry tb (cls t) (residues h cls
    t) i = Some a /\ good i u y a /\ usable u).
  { intros i Hi. eapply entry_good; eauto; [lia|lia|]. intros j Hj. apply HB. lia. }
  destruct (mapM_exists (entry tb (cls t) (residues h cls t)) (seq 0 (length (Groups h)))) as [ps
    EP].
  { intros i Hi. apply in_seq in Hi. destruct (EG i ltac:(lia)) as [a [E _]]. exists a. exact E. }
  assert (LP : length ps = length (Groups h)) by (rewrite (mapM_len _ _ _ EP), seq_length;
    reflexivity).
  assert (GP : forall i, (i < length (Groups h))%nat -> good i u y (nth i ps no_piece)).
  { intros i Hi. destruct (EG i Hi) as [a [E [G _]]].
    pose proof (mapM_nth _ _ _ i O no_piece EP ltac:(rewrite seq_length; exact Hi)) as E2.
    rewrite seq_nth in E2 by exact Hi. cbn [Nat.add] in E2. rewrite E in E2. apply some_inj in E2.
    subst a. exact G. }
  assert (LU : usable u) by (destruct (EG O ltac:(lia)) as [_ [_ [_ L]]]; exact L).
  assert (IR : In (residues h cls t) (residues_at_class (cls t))) by (apply residues_in; auto).
  unfold outcomes in HO. destruct (mapM_in _ _ _ (cls t, residues h cls t) HO) as [o [EO IO]].
  { apply in_flat_map. exists (cls t). split; [apply in_seq; lia|]. now apply in_map. }
  rewrite EP in EO. destruct (completed ps) as [Y|] eqn:EC; [|discriminate]. apply some_inj in EO.
  subst o.
  assert (IY : inv Y (ys t)).
  { unfold completed in EC. destruct (before_rest ps) as [vb|] eqn:EV; [|discriminate].
    destruct (rest_box _ vb) as [zb|] eqn:EZ; [|discriminate].
    assert (Iv : inv vb v) by (eapply before_rest_sound; eauto; apply Forall_forall; intros g Hg;
      apply Nat.ltb_lt; now apply OW).
    assert (Iz : inv zb z).
    { assert (I5 : Forall2 inw (skipn (S (Cut h)) (BMlps b)) (skipn (S (Cut h)) (Mlps l))).
      { generalize (S (Cut h)). clear -I3. induction I3; intros [|k]; cbn; try constructor; auto. }
      eapply rest_sound; eauto. }
    assert (Ly : length y = length (BKeep b)) by (rewrite (Forall2_len _ _ _ I2);
      pose proof (Forall2_len _ _ _ Hy) as L; rewrite seq_length in L; symmetry; exact L).
    assert (Ic : inv (channels_of ps) y).
    { apply inv_from; [unfold channels_of; rewrite map_length, seq_length; exact Ly|].
      intros c Hc. unfold channels_of in *. rewrite map_length, seq_length in Hc.
      rewrite (nth_map _ _ c O) by (rewrite seq_length; exact Hc). rewrite seq_nth by exact Hc.
      cbn [Nat.add].
      assert (OC : (nth c (OwnerY h) O < length (Groups h))%nat).
      { destruct (le_lt_dec (length (OwnerY h)) c) as [O1|O1]; [rewrite nth_overflow by exact O1;
          lia|]. apply Nat.ltb_lt, OY, nth_In, O1. }
      destruct (GP _ OC) as [_ G2]. exact (G2 c). }
    eapply kept_sound; [exact Ic|exact Iz|exact EC|exact Ho]. }
  unfold lies_in in HLI. rewrite forallb_forall in HLI.
  specialize (HLI (next_class h (cls t) (residues h cls t), Y)).
  assert (IN : In (next_class h (cls t) (residues h cls t), Y) (concat os)) by (apply in_concat;
    exists [(next_class h (cls t) (residues h cls t), Y)]; split; [exact IO|now left]).
  specialize (HLI IN). cbn [fst snd] in HLI. apply andb_prop in HLI as [H1 H2].
  apply Nat.ltb_lt in H1. split; [exact H1|]. eapply subs_sound; [exact H2|exact IY].
Qed.
(* the MLP as forms of the numbers before it: at the padding, whose value every count includes, and
   where counters are known *)
Fixpoint mlp_forms (span : nat -> Z * Z) (ws : list (list (list box) * list box))
  (Fs : list form) : option (list form) :=
  match ws with
  | [] => Some Fs
  | [w] => mapM (fun Cb => form_sum span (biased_terms Fs (fst Cb) (snd Cb)))
             (combine (fst w) (snd w))
  | w :: ws => match unit_forms span Fs w with Some Us => mlp_forms span ws Us | None => None end
  end.
Lemma mlp_forms_sound span n Ws ws : within span n -> Forall2 inw Ws ws -> forall Fs y Zs z,
  infs Fs n y -> mlp_forms span Ws Fs = Some Zs -> mlp ws y z -> infs Zs n z.
Proof.
  intros HW I3. induction I3 as [|W1 w1 Ws ws J1 I3 IH]; intros Fs y Zs z HF E H;
    cbn [mlp_forms mlp] in *; [apply some_inj in E; subst; exact HF|].
  destruct I3 as [|W2 w2 Ws ws J2 I3].
  - destruct J1 as [JW JB]. pose proof (Forall2_combine _ _ _ _ _ _ JW JB) as JC.
    apply mapM_some in E. unfold with_bias, each_sum in H. unfold infs. revert Zs E z H.
    induction JC as [|Cb cb Cs cs [K1 K2] JC IHJ]; intros Zs E z H; inversion E; subst;
      inversion H; subst; constructor; auto.
    eapply biased_sound; [exact HW|exact HF|exact K1|exact K2|eassumption|eassumption].
  - destruct (unit_forms span Fs W1) as [Us|] eqn:EU; [|discriminate]. destruct H as [u [H1 H2]].
    exact (IH Us _ Zs z (unit_forms_sound _ _ _ _ _ _ _ _ HW HF J1 EU H1) E H2).
Qed.
Definition mlp_at (t : nat) (Y : list box) : option (list box) :=
  match t with
  | O => let span := spread Y in
      option_map (map (fun F => form_box F span))
        (mlp_forms span (BMlps b) (map variable (seq 0 (length Y))))
  | S _ => mlp_box (BMlps b) Y
  end.
Lemma mlp_at_sound t Y y Z0 z : inv Y y -> mlp_at t Y = Some Z0 -> mlp (Mlps l) y z -> inv Z0 z.
Proof.
  intros HY E H. destruct in_l as [_ [_ [I3 _]]]. destruct t as [|t]; cbn [mlp_at] in E;
    [|eapply mlp_sound; eauto].
  destruct (mlp_forms _ _ _) as [Fs|] eqn:EF; [|discriminate]. cbn [option_map] in E.
  apply some_inj in E. subst Z0.
  pose proof (floors_within Y y HY) as HW. pose proof (variables_sound Y y HY) as HV.
  pose proof (mlp_forms_sound _ _ _ _ HW I3 _ _ _ _ HV EF H) as IZ. clear -HW IZ.
  unfold infs in IZ. unfold inv. induction IZ; cbn; constructor; auto.
  eapply form_box_sound; eassumption.
Qed.
(* hs: the results of heads at each position as forms *)
Definition places_after (hs : nat -> list (list form)) : option (list (list box)) :=
  mapM (fun t => match mixed (hs t) (nth t P []) with None => None | Some Ys => let Y := map (fun F
    => form_box F (span_to h t)) Ys in
                 match mlp_at t Y with Some z => kept Y z | None =>
                   None end end) (seq 0 (length P)).
Definition forms_of_heads ex n (cls : nat -> nat) (xs : stream) (Hs : nat -> list (list form)) :=
  forall hs, Forall2 (fun th => head_on ex n th xs) (Heads l) hs -> forall t, (t < n)%nat ->
    Forall2 (fun H hd => infs H (counts h cls t) (hd t)) (Hs t) hs.
Lemma places_sound ex n cls xs ys Hs P' : (n <= S T)%nat -> (n <= length P)%nat ->
  forms_of_heads ex n cls xs Hs -> places_after Hs = Some P' ->
  at_places P n xs -> layer_on ex n l xs ys -> at_places P' n ys.
Proof.
  intros Hn HnP HR HP HA [hs [HH HL]] t Ht. destruct (HL t Ht) as [y [z [Hy [Hz Ho]]]].
  unfold places_after in HP.
  pose proof (mapM_nth _ _ _ t O [] HP ltac:(rewrite seq_length; lia)) as E.
  rewrite seq_nth in E by lia. cbn [Nat.add] in E. cbv zeta in E.
  destruct (mixed (Hs t) (nth t P [])) as [Ys|] eqn:EM; [|discriminate].
  destruct (mlp_at _ _) as [zb|] eqn:EZ; [|discriminate].
  pose proof (mixed_sound cls xs hs (Hs t) t _ Ys y ltac:(lia) (HR hs HH t Ht) (HA t Ht) EM Hy)
    as IY.
  assert (IV : inv (map (fun F => form_box F (span_to h t)) Ys) y).
  { clear -IY. unfold infs in IY. unfold inv. induction IY; cbn; constructor; auto.
    eapply form_box_sound; [apply counts_to|eassumption]. }
  eapply kept_sound; [exact IV| |exact E|exact Ho]. eapply mlp_at_sound; eauto.
Qed.
End Layer.
