(* Layers whose heads differ in kind: they count, look back, or match, where the position that a
   query finds depends on its class.  Hidden units may depend on several counters at once: each
   class is looked at with each list of residues. *)
From Coq Require Import ZArith List Bool Lia Reals Lra.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network Bounds Transformer Boxes Softmax Attention Forms
  Counting Variables Copying Looking Layers.
Import ListNotations.
Local Open Scope Z_scope.

Section Head.
Variables (T : nat) (P X : list (list box)) (h : layer_hint).
(* classes with one key, or with one query, in one box *)
Definition joined (of : list nat) (m : nat) : list (list box) := map (fun c =>
  hull_of (map (fun k => nth k X []) (filter (fun k => (nth k of O =? c)%nat)
    (seq 0 (length X))))) (seq 0 m).
Definition covers (of : list nat) (m : nat) (Bs : list (list box)) : bool :=
  forallb (fun k => (nth k of O <? m)%nat && subs (nth k X []) (nth (nth k of O) Bs []))
    (seq 0 (length X)).
Lemma covers_sound of m Bs n cls xs i : covers of m Bs = true -> by_class X n cls xs ->
  (1 <= i < n)%nat -> (nth (cls i) of O < m)%nat /\ inv (nth (nth (cls i) of O) Bs []) (xs i).
Proof.
  intros H HB Hi. destruct (HB i Hi) as [C1 C2]. unfold covers in H. rewrite forallb_forall in H.
  specialize (H (cls i) ltac:(apply in_seq; lia)). apply andb_prop in H as [H1 H2].
  apply Nat.ltb_lt in H1. split; [exact H1|]. eapply subs_sound; eauto.
Qed.
Definition keys_at (bh : bhead) (Bs : list (list box)) (i : nat) : option (list (list box)) :=
  mapM (fun B => times_box (meet (nth i P []) B) (BK bh)) Bs.
Definition scores_at (q : list box) (writers : list bool) (keys : list (list box)) :
  option (Z * Z * Z) :=
  option_map ends_of (mapM (fun wk => score_of q (fst wk) (snd wk)) (combine writers keys)).
Definition key_writes (hh : copy_hint) (k : nat) : bool :=
  nth (nth k (Keys h) O) (Writers hh) false.
(* what the queries in B find *)
Definition asked (first : bool) (bh : bhead) (k0 v0 : list box) (vx : list (list box))
  (rows : list (list (list box))) (B : list box) (hh : copy_hint) : option (list form) :=
  match times_box B (BQ bh) with None => None | Some q =>
  match sum_box (combine q k0), mapM (scores_at q (Writers hh)) rows with
  | Some s0, Some es =>
      let ends := (fst s0, snd s0, - (8 * far)) :: es in
      let M := if first then first_margin s0 es else margin_of ends in
      if sub s0 (- far, far) && (length (Writers hh) =? KeyClasses h)%nat && (first || in_order M
        ends)
      then copied_out T X h first bh hh M (key_writes hh) v0 vx else None
  | _, _ => None end end.
(* for each class of queries the results of the head; position 0 sees only itself *)
Definition match_forms (first : bool) (bh : bhead) (hints : list copy_hint) :
  option (list (list form)) :=
  let K := joined (Keys h) (KeyClasses h) in let A := joined (Asks h) (AskClasses h) in
  match times_box (nth 0 P []) (BQ bh), times_box (nth 0 P []) (BK bh),
    times_box (nth 0 P []) (BV bh), mapM (fun B => times_box B (BV bh)) X,
    mapM (keys_at bh K) (seq 1 T) with
  | Some q0, Some k0, Some v0, Some vx, Some rows =>
      match sum_box (combine q0 k0) with None => None | Some s =>
      if sub s (- far, far) && covers (Keys h) (KeyClasses h) K && covers (Asks h) (AskClasses h) A
         && (0 <? AskClasses h)%nat && (length hints =? AskClasses h)%nat
      then mapM (fun Bh => asked first bh k0 v0 vx rows (fst Bh) (snd Bh)) (combine A hints)
      else None end
  | _, _, _, _, _ => None end.
Definition asks_at (cls : nat -> nat) (t : nat) : nat :=
  match t with O => O | S _ => nth (cls t) (Asks h) O end.

Lemma scores_at_sound q writers keys e c key s : scores_at q writers keys = Some e ->
  (c < length writers)%nat -> length keys = length writers -> inv (nth c keys []) key ->
  (forall B b, inv B key -> sum_box (combine q B) = Some b -> inb b s) ->
  inb (- far, far) s /\ lies_between (nth c writers false) e s.
Proof.
  unfold scores_at. intros E Hc L HK HS. destruct (mapM _ _) as [l|] eqn:EM; [|discriminate].
  apply some_inj in E. subst e.
  pose proof (mapM_nth _ _ _ c (false, []) (false, zero_box) EM
    ltac:(rewrite combine_length; lia)) as EC.
  rewrite combine_nth in EC by lia. cbn [fst snd] in EC. unfold score_of in EC.
  destruct (sum_box _) as [b|] eqn:ES; [|discriminate].
  destruct (sub b _) eqn:EB; [|discriminate]. apply some_inj in EC.
  pose proof (HS _ _ HK ES) as IB. split; [eapply sub_sound; eauto|].
  apply ends_of_sound with (b := b); [|exact IB]. rewrite EC. apply nth_In.
  pose proof (mapM_len _ _ _ EM) as LM. rewrite combine_length in LM. lia.
Qed.
Lemma match_head_sound first ex n bh hints th Hs cls xs ys : is_exp ex -> (n <= S T)%nat ->
  inh bh th ->
  match_forms first bh hints = Some Hs -> at_places P n xs -> by_class X n cls xs ->
  head_on ex n th xs ys -> forall t, (t < n)%nat ->
  (asks_at cls t < length Hs)%nat /\ infs (nth (asks_at cls t) Hs []) (counts h cls t) (ys t).
Proof.
  intros HX Hn IH HP HA HB [q [k [v [Hqkv Hrow]]]] t Ht. pose proof IH as [IQ [IK [IV IC]]].
  unfold match_forms in HP. cbv zeta in HP. set (K := joined (Keys h) (KeyClasses h)) in *.
  set (A := joined (Asks h) (AskClasses h)) in *.
  destruct (times_box (nth 0 P []) (BQ bh)) as [q0|] eqn:EQ0; [|discriminate].
  destruct (times_box (nth 0 P []) (BK bh)) as [k0|] eqn:EK0; [|discriminate].
  destruct (times_box (nth 0 P []) (BV bh)) as [v0|] eqn:EV0; [|discriminate].
  destruct (mapM (fun B => times_box B (BV bh)) X) as [vx|] eqn:EVX; [|discriminate].
  destruct (mapM (keys_at bh K) (seq 1 T)) as [rows|] eqn:ER; [|discriminate].
  destruct (sum_box (combine q0 k0)) as [s00|] eqn:ES00; [|discriminate].
  destruct andb eqn:C; [|discriminate].
  apply andb_prop in C as [C C5]. apply andb_prop in C as [C C4]. apply andb_prop in C as [C C3].
  apply andb_prop in C as [C1 C2]. apply Nat.ltb_lt in C4. apply Nat.eqb_eq in C5.
  assert (LA : length A = AskClasses h) by (unfold A, joined; now rewrite map_length, seq_length).
  assert (LK : length K = KeyClasses h) by (unfold K, joined; now rewrite map_length, seq_length).
  assert (LH : length Hs = AskClasses h) by (rewrite (mapM_len _ _ _ HP), combine_length; lia).
  set (a := asks_at cls t) in *.
  assert (Ha : (a < AskClasses h)%nat).
  { unfold a, asks_at. destruct t; [exact C4|]. apply (covers_sound _ _ _ n cls xs (S t) C3 HB).
    lia. }
  split; [lia|].
  pose proof (mapM_nth _ _ _ a ([], no_copy) [] HP ltac:(rewrite combine_length; lia)) as EA.
  rewrite combine_nth in EA by lia. cbn [fst snd] in EA. set (hh := nth a hints no_copy) in *.
  destruct (Hrow t Ht) as [s [w [y [Hs' [Hw [Hy HC]]]]]].
  assert (K0 : inv k0 (k O)) by (eapply times_sound; [apply (HA O ltac:(lia))|exact IK|exact
    EK0|apply Hqkv; lia]).
  assert (V0 : inv v0 (v O)) by (eapply times_sound; [apply (HA O ltac:(lia))|exact IV|exact
    EV0|apply Hqkv; lia]).
  unfold asked in EA. destruct (times_box (nth a A []) (BQ bh)) as [qb|] eqn:EQ; [|discriminate].
  destruct (sum_box (combine qb k0)) as [s0|] eqn:ES0; [|discriminate].
  destruct (mapM (scores_at qb (Writers hh)) rows) as [es|] eqn:EE; [|discriminate].
  cbv zeta in EA.
  destruct andb eqn:D in EA; [|discriminate]. apply andb_prop in D as [D D3].
  apply andb_prop in D as [D1 D2]. apply Nat.eqb_eq in D2.
  assert (LR : length rows = T) by (rewrite (mapM_len _ _ _ ER), seq_length; reflexivity).
  assert (LE : length es = T) by (rewrite (mapM_len _ _ _ EE); exact LR).
  (* each score lies between the ends of its position *)
  assert (S0 : (1 <= t)%nat -> inb s0 (s O)).
  { intros H1. eapply sum_box_sound; [|exact ES0|apply Hs'; lia].
    refine (Forall2_combine _ _ _ _ _ _ _ K0).
    eapply times_sound; [|exact IQ|exact EQ|apply Hqkv; lia]. unfold a, asks_at.
    destruct t as [|t]; [lia|]. apply (covers_sound _ _ _ n cls xs (S t) C3 HB). lia. }
  assert (SC : forall i, (1 <= i <= t)%nat -> inb (- far, far) (s i) /\
    lies_between (key_writes hh (cls i)) (nth (i - 1) es (0, 0, 0)) (s i)).
  { intros [|i] Hi; [lia|]. cbn [Nat.sub]. rewrite Nat.sub_0_r.
    assert (IQt : inv qb (q t)).
    { eapply times_sound; [|exact IQ|exact EQ|apply Hqkv; lia]. unfold a, asks_at.
      destruct t as [|t]; [lia|]. apply (covers_sound _ _ _ n cls xs (S t) C3 HB). lia. }
    destruct (covers_sound _ _ _ n cls xs (S i) C2 HB ltac:(lia)) as [G1 G2].
    set (c := nth (cls (S i)) (Keys h) O) in *.
    pose proof (mapM_nth _ _ _ i O [] ER ltac:(rewrite seq_length; lia)) as E1.
    rewrite seq_nth in E1 by lia. cbn [Nat.add] in E1.
    pose proof (mapM_nth _ _ _ i [] (0, 0, 0) EE ltac:(lia)) as E2.
    set (row := nth i rows []) in *. unfold keys_at in E1.
    pose proof (mapM_nth _ _ _ c [] [] E1 ltac:(lia)) as E3. cbn beta in E3.
    apply (scores_at_sound qb (Writers hh) row _ c (k (S i)) (s (S i)) E2); [lia| | |].
    + rewrite (mapM_len _ _ _ E1). lia.
    + eapply times_sound; [apply meet_sound; [apply (HA (S i)); lia|exact G2]|exact IK|exact
        E3|apply Hqkv; lia].
    + intros B b IB Eb. eapply sum_box_sound; [exact (Forall2_combine _ _ _ _ _ _ IQt IB)|exact
        Eb|apply Hs'; lia]. }
  eapply copied_out_sound with (wr := key_writes hh) (v := v) (n := n) (first := first); eauto.
  - apply mapM_some in EVX. apply (Forall2_len _ _ _ EVX).
  - intros i Hi. destruct (HB i Hi) as [B1 B2]. split; [exact B1|].
    pose proof (mapM_nth _ _ _ (cls i) [] [] EVX B1) as E.
    eapply times_sound; [exact B2|exact IV|exact E|apply Hqkv; lia].
  - intros [|i] Hi; [|apply SC; lia]. destruct t as [|t].
    + eapply sub_sound; [exact C1|]. eapply sum_box_sound; [|exact ES00|apply Hs'; lia].
      refine (Forall2_combine _ _ _ _ _ _ _ K0).
      eapply times_sound; [apply (HA O ltac:(lia))|exact IQ|exact EQ0|apply Hqkv; lia].
    + eapply sub_sound; [exact D1|apply S0; lia].
  - intros i Hi N. destruct t as [|t].
    { destruct first; cbn [found_at first_of latest] in N; lia. }
    specialize (S0 ltac:(lia)). destruct first; cbn [found_at orb] in *.
    + assert (HM : 0 < first_margin s0 es).
      { unfold copied_out in EA. destruct (copy_shares _ _) as [[w1 f1]|]; [|discriminate].
        destruct (Z.ltb_spec 0 (first_margin s0 es)); [assumption|discriminate]. }
      apply (first_leads s0 es (fun i => key_writes hh (cls i)) s (S t) HM); auto; [lia|].
      intros a0 Ha0. apply SC. lia.
    + apply (latest_leads _ ((fst s0, snd s0, - (8 * far)) :: es)
        (fun i => key_writes hh (cls i)) s (S t) D3); [cbn [length]; lia| |exact Hi|exact N].
      intros [|a0] Ha0; [exact (proj2 S0)|]. cbn [Nat.eqb orb nth].
      pose proof (proj2 (SC (S a0) ltac:(lia))) as SA. cbn [Nat.sub] in SA.
      now rewrite Nat.sub_0_r in SA.
Qed.
(* a head that looks back *)
Definition back_forms (bh : bhead) (d : nat) (chs : list channel) : option (list form) :=
  match looks T d P bh, times_box (nth 0 P []) (BV bh), mapM (fun B => times_box B (BV bh)) X with
  | Some (w, f), Some v0, Some vx => back_out T X h d bh w f chs v0 vx
  | _, _, _ => None end.
Lemma back_head_sound ex n bh d chs th Fs cls xs ys : is_exp ex -> (n <= S T)%nat -> inh bh th ->
  back_forms bh d chs = Some Fs -> at_places P n xs -> by_class X n cls xs ->
  head_on ex n th xs ys -> forall t, (t < n)%nat -> infs Fs (counts h cls t) (ys t).
Proof.
  intros HX Hn IH HP HA HB [q [k [v [Hqkv Hrow]]]] t Ht. pose proof IH as [_ [_ [IV _]]].
  unfold back_forms in HP. destruct (looks T d P bh) as [[w1 f1]|] eqn:EL; [|discriminate].
  destruct (times_box (nth 0 P []) (BV bh)) as [v0|] eqn:EV0; [|discriminate].
  destruct (mapM (fun B => times_box B (BV bh)) X) as [vx|] eqn:EVX; [|discriminate].
  destruct (Hrow t Ht) as [s [w [y [Hs [Hw [Hy HC]]]]]].
  destruct (looks_sound T d P bh th IH ex n xs q k t s w w1 f1 HX ltac:(lia) EL HA
    (fun i Hi => proj1 (Hqkv i Hi)) (fun i Hi => proj1 (proj2 (Hqkv i Hi))) Hs Hw) as [W1 WO].
  eapply (back_out_sound T X h d n t); eauto.
  - apply (mapM_len _ _ _ EVX).
  - eapply times_sound; [apply (HA O ltac:(lia))|exact IV|exact EV0|apply Hqkv; lia].
  - intros i Hi. destruct (HB i Hi) as [B1 B2]. split; [exact B1|].
    pose proof (mapM_nth _ _ _ (cls i) [] [] EVX B1) as E.
    eapply times_sound; [exact B2|exact IV|exact E|apply Hqkv; lia].
Qed.
End Head.

Section Layer.
Variables (p T : nat) (P X : list (list box)) (h : layer_hint) (b : blayer) (l : tlayer).
Hypothesis in_l : inl b l.
(* the results of a head that does not depend on its query *)
Definition for_all_asks (F : option (list form)) : option (list (list form)) :=
  option_map (fun F => repeat F (AskClasses h)) F.
Lemma for_all_asks_sound F Hs a n x : for_all_asks F = Some Hs -> (a < AskClasses h)%nat ->
  (forall Fs, F = Some Fs -> infs Fs n x) -> (a < length Hs)%nat /\ infs (nth a Hs []) n x.
Proof.
  destruct F as [Fs|]; [|discriminate]. cbn [for_all_asks option_map]. intros E Ha HF.
  apply some_inj in E. subst Hs. rewrite repeat_length. split; [exact Ha|].
  rewrite (nth_indep _ [] Fs) by (rewrite repeat_length; exact Ha). rewrite nth_repeat.
  now apply HF.
Qed.
Definition one_of_heads (bh : bhead) (hint : any_hint) : option (list (list form)) :=
  match hint with
  | Counts c => for_all_asks (head_forms p T P X h bh c)
  | Matches first cs => match_forms T P X h first bh cs
  | LookBack d cs => for_all_asks (back_forms T P X h bh d cs) end.
Definition match_heads : option (list (list (list form))) :=
  if (length (BHeads b) =? length (HeadHints h))%nat && (0 <? AskClasses h)%nat &&
     forallb (fun k => (nth k (Asks h) O <? AskClasses h)%nat) (seq 0 (length X))
  then mapM (fun q => one_of_heads (fst q) (snd q)) (combine (BHeads b) (HeadHints h)) else None.
Definition for_asks (a : nat) (Hs : list (list (list form))) : list (list form) :=
  map (fun H => nth a H []) Hs.
Lemma match_heads_sound ex n cls xs hs Hs : is_exp ex -> (n <= S T)%nat -> match_heads = Some Hs ->
  at_places P n xs -> by_class X n cls xs -> placed p h n cls ->
  Forall2 (fun th => head_on ex n th xs) (Heads l) hs ->
  forall t, (t < n)%nat -> Forall (fun H => (asks_at h cls t < length H)%nat) Hs /\
  Forall2 (fun H hd => infs H (counts h cls t) (hd t)) (for_asks (asks_at h cls t) Hs) hs.
Proof.
  intros HX Hn HR HA HB HPL HH t Ht. destruct in_l as [I1 _]. unfold match_heads in HR.
  destruct andb eqn:E in HR; [|discriminate]. apply andb_prop in E as [E A2].
  apply andb_prop in E as [E A1]. apply Nat.eqb_eq in E. apply Nat.ltb_lt in A1.
  rewrite forallb_forall in A2.
  assert (HK : (asks_at h cls t < AskClasses h)%nat).
  { unfold asks_at. destruct t as [|t]; [exact A1|]. apply Nat.ltb_lt, A2, in_seq.
    destruct (HB (S t) ltac:(lia)). lia. }
  apply mapM_some in HR. revert Hs HR hs HH E. generalize (HeadHints h) as hints.
  induction I1 as [|bh th bhs ths Hb I1 IH]; intros hints Hs HR hs HH E.
  - cbn in HR. inversion HR; subst. inversion HH; subst. split; constructor.
  - destruct hints as [|hh hints]; [discriminate|]. cbn [combine] in HR.
    inversion HR as [|r q rs' ps' Hr HR']; subst.
    inversion HH as [|th1 h1 ths1 hs' H2 HH']; subst. cbn [fst snd] in Hr.
    assert (M : (asks_at h cls t < length r)%nat /\
      infs (nth (asks_at h cls t) r []) (counts h cls t) (h1 t)).
    { destruct hh as [c|first cs|d cs]; cbn [one_of_heads] in Hr.
      - eapply for_all_asks_sound; [exact Hr|exact HK|]. intros Fs EF.
        eapply (head_sound p T P X h); eauto.
      - eapply match_head_sound; eauto.
      - eapply for_all_asks_sound; [exact Hr|exact HK|]. intros Fs EF.
        eapply back_head_sound; eauto. }
    destruct M as [M1 M2].
    destruct (IH hints rs' HR' hs' HH' ltac:(cbn in E; lia)) as [N1 N2].
    split; constructor; assumption.
Qed.
(* Group j is counter j, and its residue says what the counter is, or that it is where counting
   stops or beyond. *)
Definition registers_fit : bool :=
  rises h && (length (Steps h) <=? length (Groups h))%nat &&
  (length (Sets h) <=? length (Groups h))%nat &&
  forallb (fun j => let g := group_at h j in let '(lo, hi) := span T h j in
    same_residues (Weights g) (only j 1) && (Stops g || (hi - lo <? Modulus g)))
    (seq 0 (length (Groups h))).
Definition exactly (rs : list Z) (j : nat) : Z * Z :=
  let g := group_at h j in let '(lo, hi) := span T h j in let r := nth j rs 0 in
  if Stops g then (r, if r <? Modulus g - 1 then r else hi)
  else let v := lo + (r - lo) mod Modulus g in (v, v).
Lemma exactly_sound cls t : registers_fit = true -> (t <= T)%nat ->
  within (exactly (residues h cls t)) (counts h cls t).
Proof.
  intros H Ht j. unfold registers_fit in H. apply andb_prop in H as [H H3].
  apply andb_prop in H as [H H2]. apply andb_prop in H as [H0 H1].
  apply Nat.leb_le in H1, H2. rewrite forallb_forall in H3.
  pose proof (counts_in T h cls t Ht j) as C. unfold exactly. cbv zeta.
  destruct (le_lt_dec (length (Groups h)) j) as [O|O].
  - assert (S0 : span T h j = (0, 0)).
    { unfold span, span_to. destruct T; [reflexivity|]. unfold span_after.
      rewrite !nth_overflow by lia. cbn [fold_right sets_from]. cbv zeta.
      cbn [fold_right sets_from fst snd]. f_equal; lia. }
    rewrite S0 in *. cbn [fst snd] in *. unfold residues. rewrite (nth_overflow (map _ _)) by
      (rewrite map_length; exact O). unfold group_at. rewrite nth_overflow by exact O.
    cbn. lia.
  - specialize (H3 j ltac:(apply in_seq; lia)). cbv zeta in H3.
    pose proof (rises_at h j H0 O) as R. unfold rises_alone in R. cbv zeta in R.
    apply andb_prop in R as [R _]. apply Z.ltb_lt in R. set (g := group_at h j) in *.
    destruct (span T h j) as [lo hi]. cbn [fst snd] in *.
    apply andb_prop in H3 as [H3 H4]. apply same_residues_eq in H3.
    rewrite residues_at by exact O. fold g. unfold reduced, counted.
    rewrite H3, dot_only, Z.mul_1_l. destruct (Stops g); cbn [orb] in H4.
    + cbn [fst snd]. destruct (Z.ltb_spec (Z.min (counts h cls t j) (Modulus g - 1))
        (Modulus g - 1)); lia.
    + apply Z.ltb_lt in H4. cbn [fst snd]. rewrite Zminus_mod_idemp_l, Z.mod_small by lia. lia.
Qed.
(* each class with each list of residues *)
Definition outcomes_at (Hs : list (list (list form))) (k : nat) : option (list (nat * list box)) :=
  match residues_at_class h k with [] => Some [] | rss =>
  match mixed T h b (for_asks (nth k (Asks h) O) Hs) (nth k X []) with None => None | Some Ys =>
  mapM (fun rs => let Y := map (fun F => form_box F (exactly rs)) Ys in
    match mlp_at b 0 Y with None => None | Some z =>
    match kept b Y z with None => None | Some B => Some (next_class h k rs, B) end end) rss
  end end.
Definition match_outcomes (Hs : list (list (list form))) : option (list (list (nat * list box))) :=
  mapM (outcomes_at Hs) (seq 0 (length X)).
Lemma match_classes_sound ex n cls xs ys Hs os X' : is_exp ex -> (n <= S T)%nat ->
  match_heads = Some Hs -> registers_fit = true -> match_outcomes Hs = Some os ->
  lies_in X' os = true -> at_places P n xs -> by_class X n cls xs -> placed p h n cls ->
  (forall t, (1 <= t < n)%nat -> (next_classes h cls t < NextClasses h)%nat) ->
    layer_on ex n l xs ys -> by_class X' n (next_classes h cls) ys.
Proof.
  intros HX Hn HR HF HO HLI HA HB HPL HN [hs [HH HL]] t Ht.
  destruct (HL t ltac:(lia)) as [y [z [Hy [Hz Ho]]]]. destruct (HB t Ht) as [C1 C2].
  destruct (match_heads_sound ex n cls xs hs Hs HX Hn HR HA HB HPL HH t ltac:(lia)) as [_ HM].
  assert (EA : asks_at h cls t = nth (cls t) (Asks h) O) by (destruct t; [lia|reflexivity]).
  rewrite EA in HM.
  pose proof (mapM_nth _ _ _ (cls t) O [] HO ltac:(rewrite seq_length; exact C1)) as E1.
  rewrite seq_nth in E1 by exact C1. cbn [Nat.add] in E1. unfold outcomes_at in E1.
  pose proof (residues_in h cls t (HN t Ht)) as IR.
  assert (E2 : match mixed T h b (for_asks (nth (cls t) (Asks h) O) Hs) (nth (cls t) X []) with
    None => None | Some Ys => mapM (fun rs => let Y := map (fun F => form_box F (exactly rs)) Ys in
    match mlp_at b 0 Y with None => None | Some z => match kept b Y z with None => None | Some B =>
    Some (next_class h (cls t) rs, B) end end) (residues_at_class h (cls t)) end =
    Some (nth (cls t) os []))
    by (destruct (residues_at_class h (cls t)); [contradiction|exact E1]).
  clear E1. destruct (mixed _ _ _ _ _) as [Ys|] eqn:EM; [|discriminate].
  pose proof (mixed_sound T h b l in_l cls xs hs _ t _ Ys y ltac:(lia) HM C2 EM Hy) as IY.
  destruct (mapM_in _ _ _ _ E2 IR) as [o [EO IO]]. cbv zeta in EO.
  set (Y := map (fun F => form_box F (exactly (residues h cls t))) Ys) in *.
  assert (IV : inv Y y).
  { unfold Y. pose proof (exactly_sound cls t HF ltac:(lia)) as W. clear -IY W.
    unfold infs in IY. unfold inv. induction IY; cbn; constructor; auto.
    eapply form_box_sound; eassumption. }
  destruct (mlp_at b 0 Y) as [zb|] eqn:EZ; [|discriminate].
  destruct (kept b Y zb) as [B|] eqn:EK; [|discriminate]. apply some_inj in EO. subst o.
  pose proof (mlp_at_sound b l in_l _ _ _ _ _ IV EZ Hz) as IZ.
  pose proof (kept_sound b l in_l _ _ _ _ _ _ IV IZ EK Ho) as IB.
  unfold lies_in in HLI. rewrite forallb_forall in HLI.
  specialize (HLI (next_class h (cls t) (residues h cls t), B)).
  assert (IN : In (next_class h (cls t) (residues h cls t), B) (concat os)).
  { apply in_concat. exists (nth (cls t) os []). split; [|exact IO]. apply nth_In.
    rewrite (mapM_len _ _ _ HO), seq_length. exact C1. }
  specialize (HLI IN). cbn [fst snd] in HLI. apply andb_prop in HLI as [H1 H2].
  apply Nat.ltb_lt in H1. split; [exact H1|]. eapply subs_sound; [exact H2|exact IB].
Qed.
(* at a position whose class is not known: the results for all classes of queries in one box *)
Definition boxes_of_asks (H : list (list form)) : list (list box) :=
  map (map (fun F => form_box F (span T h))) H.
Definition loose (H : list (list form)) : list form := map constant (hull_of (boxes_of_asks H)).
Definition loose_fits (Hs : list (list (list form))) : bool := forallb (fun H =>
  forallb (fun B => subs B (hull_of (boxes_of_asks H))) (boxes_of_asks H)) Hs.
Definition at_position (Hs : list (list (list form))) (t : nat) : list (list form) :=
  match t with O => for_asks O Hs | S _ => map loose Hs end.
Lemma loose_sound H a (n : nat -> Z) x : within (span T h) n -> (a < length H)%nat ->
  forallb (fun B => subs B (hull_of (boxes_of_asks H))) (boxes_of_asks H) = true ->
  infs (nth a H []) n x -> infs (loose H) n x.
Proof.
  intros W Ha HF HI. rewrite forallb_forall in HF.
  assert (I : inv (map (fun F => form_box F (span T h)) (nth a H [])) x).
  { clear -W HI. unfold infs in HI. unfold inv. induction HI; cbn; constructor; auto.
    eapply form_box_sound; eassumption. }
  assert (J : inv (hull_of (boxes_of_asks H)) x).
  { eapply subs_sound; [apply HF|exact I]. unfold boxes_of_asks. apply in_map, nth_In, Ha. }
  unfold loose. unfold infs. clear -J. induction J; cbn; constructor; auto.
  now apply constant_sound.
Qed.
Lemma at_position_sound ex n cls xs Hs : is_exp ex -> (n <= S T)%nat -> match_heads = Some Hs ->
  loose_fits Hs = true -> at_places P n xs -> by_class X n cls xs -> placed p h n cls ->
  forms_of_heads h l ex n cls xs (at_position Hs).
Proof.
  intros HX Hn HR HF HA HB HPL hs HH t Ht.
  destruct (match_heads_sound ex n cls xs hs Hs HX Hn HR HA HB HPL HH t Ht) as [L HM].
  destruct t as [|t]; [exact HM|]. cbn [at_position]. pose proof (counts_in T h cls (S t)
    ltac:(lia)) as W. unfold loose_fits in HF. revert L HM HF. clear HR. revert hs HH.
  intros hs _. revert hs. induction Hs as [|H Hs IH]; intros hs L HM HF; cbn in *.
  - inversion HM; subst. constructor.
  - inversion HM; subst. inversion L; subst. apply andb_prop in HF as [F1 F2]. constructor; auto.
    eapply loose_sound; eauto.
Qed.
(* ---------- a layer of either kind: its outcomes, and its heads as forms ---------- *)
Definition results : option (list (list (nat * list box)) * (nat -> list (list form))) :=
  if (KeyClasses h =? 0)%nat then
    match all_heads p T P X h b with None => None | Some Hs =>
    if sizes_fit X h b then
      match tables T X h b Hs with None => None | Some tb =>
      match outcomes X h b tb with None => None | Some os => Some (os, fun _ => Hs) end end
    else None end
  else
    match match_heads with None => None | Some Hs =>
    if registers_fit && loose_fits Hs then
      match match_outcomes Hs with None => None | Some os => Some (os, at_position Hs) end
    else None end.
Theorem results_sound ex n cls xs ys os Hs X' : is_exp ex -> (n <= S T)%nat ->
  results = Some (os, Hs) -> lies_in X' os = true -> at_places P n xs -> by_class X n cls xs ->
  placed p h n cls -> (forall t, (1 <= t < n)%nat -> (next_classes h cls t < NextClasses h)%nat) ->
  layer_on ex n l xs ys ->
  by_class X' n (next_classes h cls) ys /\ forms_of_heads h l ex n cls xs Hs.
Proof.
  intros HX Hn HR HLI HA HB HP HN HL. unfold results in HR. destruct (KeyClasses h =? 0)%nat.
  - destruct (all_heads p T P X h b) as [Hs'|] eqn:EH; [|discriminate].
    destruct (sizes_fit X h b) eqn:SF; [|discriminate].
    destruct (tables T X h b Hs') as [tb|] eqn:ET; [|discriminate].
    destruct (outcomes X h b tb) as [os'|] eqn:EO; [|discriminate]. injection HR as -> <-.
    split; [eapply classes_sound; eauto|]. intros hs HH t Ht. eapply heads_sound; eauto.
  - destruct match_heads as [Hs'|] eqn:EH; [|discriminate]. destruct andb eqn:C; [|discriminate].
    apply andb_prop in C as [C1 C2]. destruct (match_outcomes Hs') as [os'|] eqn:EO;
      [|discriminate]. injection HR as -> <-.
    split; [eapply match_classes_sound; eauto|]. eapply at_position_sound; eauto.
Qed.
End Layer.
