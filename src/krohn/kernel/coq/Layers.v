(* From one layer to the next, to the read-out, and along the automaton. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax Attention Counting.
Import ListNotations.
Open Scope Z_scope.

Record blayer := { BHeads : list bhead; BKeep : list box; BMlps : list (list (list box) * list box); BKeepMlp : list box }.
Definition box_layer (l : tlayer) : option blayer :=
  match mapM box_head (Heads l), boxes_of (KeepAttention l), mapM box_affine (Mlps l), boxes_of (KeepMlp l) with
  | Some h, Some a, Some m, Some k => Some {| BHeads := h; BKeep := a; BMlps := m; BKeepMlp := k |} | _, _, _, _ => None end.
Definition inl (b : blayer) (l : tlayer) : Prop :=
  Forall2 inh (BHeads b) (Heads l) /\ inv (BKeep b) (KeepAttention l) /\ Forall2 inw (BMlps b) (Mlps l) /\ inv (BKeepMlp b) (KeepMlp l).
Lemma box_layer_sound l b : box_layer l = Some b -> inl b l.
Proof.
  unfold box_layer. destruct (mapM box_head (Heads l)) eqn:E1; [|discriminate]. destruct (boxes_of (KeepAttention l)) eqn:E2; [|discriminate].
  destruct (mapM box_affine (Mlps l)) eqn:E3; [|discriminate]. destruct (boxes_of (KeepMlp l)) eqn:E4; [|discriminate]. intros [= <-].
  repeat split; cbn; eauto using boxes_of_sound; eapply mapM_sound; eauto using box_head_sound, box_affine_sound.
Qed.

Section Layer.
Variables (T : nat) (P X : list (list box)) (h : layer_hint) (b : blayer) (l : tlayer).
Hypothesis in_l : inl b l.
Definition ready := (bhead * head_hint * list (channel * Z * Z))%type.
Definition all_prepared : option (list ready) :=
  if (length (BHeads b) =? length (HeadHints h))%nat then
    mapM (fun p => match prepared T P X h (fst p) (snd p) with Some ps => Some (p, ps) | None => None end) (combine (BHeads b) (HeadHints h))
  else None.
Definition layer_box (rs : list ready) (B : list box) (ns : nat -> Z * Z) : option (list box) :=
  match mapM (fun r : ready => let '(bh, hh, ps) := r in head_box T bh hh ps ns) rs with None => None | Some hs =>
  match mapM (fun c => sum_box ((nth c B zero_box, nth c (BKeep b) zero_box) :: map (fun H => (nth c H zero_box, one_box)) hs)) (seq 0 (length (BKeep b))) with
  | None => None | Some y =>
  match mlp_box (BMlps b) y with None => None | Some z =>
  mapM (fun c => sum_box [(nth c y zero_box, nth c (BKeepMlp b) zero_box); (nth c z zero_box, one_box)]) (seq 0 (length (BKeepMlp b))) end end end.
Lemma Forall2_same {A} (R : A -> A -> Prop) l0 : (forall a, R a a) -> Forall2 R l0 l0. Proof. intros. induction l0; constructor; auto. Qed.
Lemma layer_box_sound ex n cls xs ys rs : is_exp ex -> (n <= S T)%nat -> all_prepared = Some rs ->
  at_places P n xs -> by_class X n cls xs -> layer_on ex n l xs ys -> forall t, (t < n)%nat -> forall B ns Y,
  inv B (xs t) -> (forall j, fst (ns j) <= counted h cls j t <= snd (ns j)) -> layer_box rs B ns = Some Y -> inv Y (ys t).
Proof.
  intros HX Hn HR HA HB [hs [HH HL]] t Ht B ns Y HBx Hns HY. destruct in_l as [I1 [I2 [I3 I4]]].
  destruct (HL t Ht) as [y [z [Hy [Hz Ho]]]]. unfold layer_box in HY.
  destruct (mapM _ rs) as [Hs|] eqn:EH; [|discriminate]. destruct (mapM _ (seq 0 (length (BKeep b)))) as [yb|] eqn:EY; [|discriminate].
  destruct (mlp_box (BMlps b) yb) as [zb|] eqn:EZ; [|discriminate].
  assert (IH : Forall2 (fun Hb hd => inv Hb (hd t)) Hs hs).
  { unfold all_prepared in HR. destruct (Nat.eqb_spec (length (BHeads b)) (length (HeadHints h))) as [E|]; [|discriminate].
    apply mapM_some in HR. apply mapM_some in EH. clear EY EZ Hy Hz Ho HY HL. revert rs HR Hs EH hs HH E. generalize (HeadHints h) as hints.
    induction I1 as [|bh th bhs ths Hb I1 IH]; intros hints rs HR Hs EH hs HH E.
    - cbn in HR. inversion HR; subst. inversion EH; subst. inversion HH; subst. constructor.
    - destruct hints as [|hh hints]; [discriminate|]. cbn [combine] in HR. inversion HR as [|r p rs' ps' Hr HR']; subst. inversion EH as [|Hb1 r1 Hs' rs1 H1 EH']; subst.
      inversion HH as [|th1 h1 ths1 hs' H2 HH']; subst. cbn [fst snd] in Hr. destruct (prepared T P X h bh hh) as [ps|] eqn:EP; [|discriminate].
      apply some_inj in Hr. subst r. constructor; [|eapply IH; eauto].
      eapply head_sound; eauto. }
  assert (Iy : inv yb y).
  { eapply each_sum_sound; [|exact EY|exact Hy]. rewrite (Forall2_len _ _ _ I2). apply Forall2_same. intros c.
    constructor; [split; apply inv_at; assumption|]. clear -IH. induction IH; cbn; constructor; auto. cbn [fst snd]. split; [now apply inv_at|apply inb_one]. }
  assert (Iz : inv zb z) by (eapply mlp_sound; eauto).
  eapply each_sum_sound; [|exact HY|exact Ho]. rewrite (Forall2_len _ _ _ I4). apply Forall2_same. intros c.
  constructor; [split; apply inv_at; assumption|]. constructor; [|constructor]. split; [now apply inv_at|apply inb_one].
Qed.

(* ---------- the classes after the layer ---------- *)
Definition steps_fit : bool := forallb (fun r => forallb (fun z => 0 <=? z) r) (Steps h).
Definition most_of (j : nat) : Z := Z.of_nat T * fold_right Z.max 0 (nth j (Steps h) []).
Lemma step_range : steps_fit = true -> forall j k, 0 <= step_of h j k <= fold_right Z.max 0 (nth j (Steps h) []).
Proof.
  unfold steps_fit, step_of. intros H j k. rewrite forallb_forall in H. destruct (le_lt_dec (length (Steps h)) j) as [L|L].
  - rewrite (nth_overflow _ _ L). destruct k; cbn; lia.
  - specialize (H _ (nth_In _ [] L)). revert k. induction (nth j (Steps h) []) as [|z r IH]; intros k; [destruct k; cbn; lia|].
    cbn in H. apply andb_prop in H as [H1 H2]. apply Z.leb_le in H1. specialize (IH H2). pose proof (IH O). destruct k as [|k]; cbn; [|specialize (IH k)]; lia.
Qed.
Definition most_to (t j : nat) : Z := Z.of_nat t * fold_right Z.max 0 (nth j (Steps h) []).
Lemma counted_to cls j t : steps_fit = true -> 0 <= counted h cls j t <= most_to t j.
Proof. intros H. unfold counted, most_to. induction t; cbn [count]; [lia|]. pose proof (step_range H j (cls (S t))). nia. Qed.
Lemma counted_range cls j t : steps_fit = true -> (t <= T)%nat -> 0 <= counted h cls j t <= most_of j.
Proof. intros H Ht. pose proof (counted_to cls j t H). pose proof (step_range H j O). unfold most_to, most_of in *. nia. Qed.
Definition view (j : nat) (z : Z) (i : nat) : Z * Z := if (i =? j)%nat then (z, z) else (0, most_of i).
Fixpoint all_residues (ms : list Z) : list (list Z) :=
  match ms with [] => [[]] | m :: ms => flat_map (fun r => map (fun rs => Z.of_nat r :: rs) (all_residues ms)) (seq 0 (Z.to_nat m)) end.
Lemma all_residues_in ms : forall rs, Forall2 (fun r m => 0 <= r < m) rs ms -> In rs (all_residues ms).
Proof.
  induction ms as [|m ms IH]; intros rs H; inversion H; subst; cbn [all_residues]; [now left|]. apply in_flat_map. exists (Z.to_nat x).
  split; [apply in_seq; lia|]. apply in_map_iff. exists l0. rewrite Z2Nat.id by lia. auto.
Qed.
Definition modulus (j : nat) : Z := nth j (Moduli h) 1.
Fixpoint counts_to (n : nat) : list Z := match n with O => [0] | S k => Z.of_nat n :: counts_to k end.
Lemma counts_to_in n z : 0 <= z <= Z.of_nat n -> In z (counts_to n).
Proof. induction n as [|n IH]; intros H; cbn [counts_to]; [left; lia|]. destruct (Z.eq_dec z (Z.of_nat (S n))); [left; lia|right; apply IH; lia]. Qed.

(* for each class, counter and count: the box of each channel that the counter owns lies in those of all classes that may follow *)
Definition results (rs : list ready) : option (list (nat * nat * Z * list box)) :=
  mapM (fun q : nat * nat * Z => let '(k, j, z) := q in match layer_box rs (nth k X []) (view j z) with Some Y => Some (q, Y) | None => None end)
       (flat_map (fun k => flat_map (fun j => map (fun z => (k, j, z)) (counts_to (Z.to_nat (most_of j)))) (seq 0 (length (Moduli h)))) (seq 0 (length X))).
Definition goes_to (j : nat) (z : Z) (k : nat) : list nat :=
  map (next_class h k) (filter (fun rs => nth j rs 0 =? z mod modulus j) (all_residues (Moduli h))).
Definition gathered (rs : list (nat * nat * Z * list box)) : list (list box) :=
  map (fun k' => map (fun c => fold_left (fun (a : box) r => let '((k, j, z), Y) := r in
         if existsb (Nat.eqb c) (nth j (Owned h) []) && existsb (Nat.eqb k') (goes_to j z k) then
           let y := nth c Y zero_box in if snd a <? fst a then y else hull a y else a) rs (1, 0))
       (seq 0 (length (BKeepMlp b)))) (seq 0 (NextClasses h)).
Definition lies_in (X' : list (list box)) (r : nat * nat * Z * list box) : bool :=
  let '((k, j, z), Y) := r in
  (length Y =? length (BKeepMlp b))%nat &&
  forallb (fun k' => forallb (fun c => sub (nth c Y zero_box) (nth c (nth k' X' []) zero_box)) (nth j (Owned h) [])) (goes_to j z k).
Definition owners_fit : bool :=
  forallb (fun c => existsb (fun j => existsb (Nat.eqb c) (nth j (Owned h) [])) (seq 0 (length (Moduli h)))) (seq 0 (length (BKeepMlp b))).
Definition classes_fit (X' : list (list box)) : bool :=
  steps_fit && owners_fit && forallb (fun m => 0 <? m) (Moduli h) && negb (length (Moduli h) =? 0)%nat &&
  forallb (fun k => forallb (fun rs => (next_class h k rs <? length X')%nat) (all_residues (Moduli h))) (seq 0 (length X)) &&
  forallb (fun B => (length B =? length (BKeepMlp b))%nat) X'.
Lemma inv_from B x : length x = length B -> (forall c, (c < length B)%nat -> inb (nth c B zero_box) (nth c x zero)) -> inv B x.
Proof.
  revert x. induction B as [|a B IH]; intros [|y x] L H; try discriminate; [constructor|]. constructor; [apply (H O); cbn; lia|].
  apply IH; [cbn in L; lia|]. intros c Hc. apply (H (S c)). cbn. lia.
Qed.
Lemma each_sum_len {A} (f : A -> list (f32 * f32)) k y : each_sum f k y -> length y = length k.
Proof. intros H. symmetry. apply (Forall2_len _ _ _ H). Qed.
Lemma residues_in cls t : forallb (fun m => 0 <? m) (Moduli h) = true -> In (residues h cls t) (all_residues (Moduli h)).
Proof.
  intros H. apply all_residues_in. unfold residues. generalize (seq_length (length (Moduli h)) 0). generalize (seq 0 (length (Moduli h))). revert H.
  induction (Moduli h) as [|m ms IH]; intros H [|i s] L; try discriminate; cbn; constructor; cbn in H, L; apply andb_prop in H as [H1 H2].
  - apply Z.ltb_lt in H1. now apply Z.mod_pos_bound.
  - apply IH; auto.
Qed.
Lemma residues_at cls t j : (j < length (Moduli h))%nat -> nth j (residues h cls t) 0 = counted h cls j t mod modulus j.
Proof.
  intros H. unfold residues, modulus.
  assert (G : forall (ms : list Z) a i, (i < length ms)%nat -> nth i (map (fun p => counted h cls (fst p) t mod snd p) (combine (seq a (length ms)) ms)) 0 = counted h cls (a + i) t mod nth i ms 1).
  { induction ms as [|m ms IH]; intros a [|i] Hi; cbn in Hi; try lia; cbn [length seq combine map nth fst snd]; [now rewrite Nat.add_0_r|].
    rewrite IH by lia. now replace (S a + i)%nat with (a + S i)%nat by lia. }
  rewrite G by assumption. reflexivity.
Qed.
Lemma mapM_in {A B} (f : A -> option B) l0 r a : mapM f l0 = Some r -> In a l0 -> exists y, f a = Some y /\ In y r.
Proof. intros E. apply mapM_some in E. induction E; intros []; [subst; eexists; split; [eassumption|now left]|]. destruct IHE as [y' [? ?]]; auto. exists y'. split; auto. now right. Qed.
Lemma classes_sound ex n cls xs ys rs rr X' : is_exp ex -> (n <= S T)%nat -> all_prepared = Some rs -> results rs = Some rr ->
  classes_fit X' = true -> forallb (lies_in X') rr = true ->
  at_places P n xs -> by_class X n cls xs -> layer_on ex n l xs ys -> by_class X' n (next_classes h cls) ys.
Proof.
  intros HX Hn HR HRR HC HLI HA HB HL t Ht. unfold classes_fit in HC. repeat (apply andb_prop in HC as [HC ?]).
  match goal with H : forallb (fun B => _) X' = true |- _ => rename H into LX end.
  match goal with H : forallb (fun k => forallb _ _) _ = true |- _ => rename H into NX end.
  match goal with H : negb _ = true |- _ => rename H into MN end.
  match goal with H : forallb (fun m => 0 <? m) _ = true |- _ => rename H into MP end.
  match goal with H : owners_fit = true |- _ => rename H into OF end.
  destruct (HB t Ht) as [C1 C2].
  assert (IR : In (residues h cls t) (all_residues (Moduli h))) by now apply residues_in.
  assert (NL : (next_classes h cls t < length X')%nat).
  { rewrite forallb_forall in NX. specialize (NX (cls t) ltac:(apply in_seq; lia)). rewrite forallb_forall in NX. specialize (NX _ IR). now apply Nat.ltb_lt in NX. }
  split; [exact NL|]. rewrite forallb_forall in LX. pose proof (LX _ (nth_In X' [] NL)) as LB. apply Nat.eqb_eq in LB.
  assert (Main : forall j, (j < length (Moduli h))%nat -> exists Y, inv Y (ys t) /\ length Y = length (BKeepMlp b) /\
     forall c, In c (nth j (Owned h) []) -> sub (nth c Y zero_box) (nth c (nth (next_classes h cls t) X' []) zero_box) = true).
  { intros j Hj. set (z := counted h cls j t). assert (Rz : 0 <= z <= most_of j) by (apply counted_range; [assumption|lia]).
    unfold results in HRR. eapply (mapM_in _ _ _ (cls t, j, z)) in HRR as [r [E I]].
    - destruct (layer_box rs (nth (cls t) X []) (view j z)) as [Y|] eqn:EY; [|discriminate]. apply some_inj in E. subst r.
      exists Y. split.
      + eapply layer_box_sound; eauto; [lia|]. intros i. unfold view. destruct (Nat.eqb_spec i j) as [->|]; cbn [fst snd]; [unfold z; lia|apply counted_range; [assumption|lia]].
      + rewrite forallb_forall in HLI. specialize (HLI _ I). unfold lies_in in HLI. apply andb_prop in HLI as [L1 L2]. split; [now apply Nat.eqb_eq|].
        rewrite forallb_forall in L2. specialize (L2 (next_classes h cls t)). rewrite forallb_forall in L2. apply L2.
        unfold goes_to, next_classes. apply in_map. apply filter_In. split; [exact IR|]. apply Z.eqb_eq. now apply residues_at.
    - apply in_flat_map. exists (cls t). split; [apply in_seq; lia|]. apply in_flat_map. exists j. split; [apply in_seq; lia|].
      apply in_map. apply counts_to_in. lia. }
  destruct in_l as [_ [_ [_ I4]]].
  apply inv_from.
  - destruct HL as [hs [_ HL]]. destruct (HL t ltac:(lia)) as [y [z [_ [_ Ho]]]]. rewrite (each_sum_len _ _ _ Ho), seq_length, LB. symmetry. apply (Forall2_len _ _ _ I4).
  - intros c Hc. rewrite LB in Hc. unfold owners_fit in OF. rewrite forallb_forall in OF. specialize (OF c ltac:(apply in_seq; lia)).
    apply existsb_exists in OF as [j [Hj O]]. apply in_seq in Hj. apply existsb_exists in O as [c' [O1 O2]]. apply Nat.eqb_eq in O2. subst c'.
    destruct (Main j ltac:(lia)) as [Y [IY [LY SY]]]. eapply sub_sound; [apply SY, O1|]. apply (inv_at _ _ c IY).
Qed.
Definition places_after (rs : list ready) : option (list (list box)) :=
  mapM (fun t => layer_box rs (nth t P []) (fun i => (0, most_to t i))) (seq 0 (length P)).
Lemma places_sound ex n cls xs ys rs P' : is_exp ex -> (n <= S T)%nat -> (n <= length P)%nat -> steps_fit = true -> all_prepared = Some rs -> places_after rs = Some P' ->
  at_places P n xs -> by_class X n cls xs -> layer_on ex n l xs ys -> at_places P' n ys.
Proof.
  intros HX Hn HnP HS HR HP HA HB HL t Ht. unfold places_after in HP.
  pose proof (mapM_nth _ _ _ t O [] HP ltac:(rewrite seq_length; lia)) as E. rewrite seq_nth in E by lia. cbn [Nat.add] in E.
  eapply layer_box_sound; [exact HX|exact Hn|exact HR|exact HA|exact HB|exact HL|exact Ht|exact (HA t Ht)| |exact E].
  intros i. cbn [fst snd]. now apply counted_to.
Qed.
End Layer.
