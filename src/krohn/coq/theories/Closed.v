(* The checker of recurrent networks for words of every length, and its soundness.
   It goes through a finite list of pairs, a state of the network and one of the automaton: from
   each pair each letter must have a step, the right logit must lead after it, and the next pair
   must be in the list.  One induction over words proves it enough, for any arithmetic that
   describes the device's: integers where no order of adding matters, or floats in one order. *)
From Coq Require Import ZArith List Permutation Bool Lia.
From Flocq Require Import Core BinarySingleNaN.
From Krohn Require Import Float32 Network.
Import ListNotations.

Definition refines {A B} (P : A -> B -> Prop) (m : possible A) (o : option B) : Prop :=
  forall b, o = Some b -> forall a, m a -> P a b.
Definition both {A A' B B'} (P : A -> A' -> Prop) (Q : B -> B' -> Prop) (x : A * B) (y : A' * B')
  : Prop :=
  P (fst x) (fst y) /\ Q (snd x) (snd y).

Lemma ref_ret {A B} (P : A -> B -> Prop) a b : P a b -> refines P (ret a) (ret b).
Proof. intros H c E a' E'. cbn in *. injection E as <-. now rewrite <- E'. Qed.

Lemma ref_bind {A B C D} (P : A -> B -> Prop) (Q : C -> D -> Prop) m o k l :
  refines P m o -> (forall a b, P a b -> refines Q (k a) (l b)) -> refines Q (bind m k) (bind o l).
Proof.
  intros H K d E c [a [Ha Hc]]. cbn in E. destruct o as [b|]; [|discriminate].
  exact (K a b (H b eq_refl a Ha) d E c Hc).
Qed.

Lemma ref_mapM {A A' B B'} (P : A -> A' -> Prop) (Q : B -> B' -> Prop) f g l l' :
  Forall2 P l l' -> (forall a b, P a b -> refines Q (f a) (g b)) -> refines (Forall2 Q) (mapM f l)
    (mapM g l').
Proof.
  intros H K. induction H as [|a b l l' Hab Hl IH]; cbn [mapM].
  - apply ref_ret. constructor.
  - apply (ref_bind Q); [now apply K|]. intros c d Hcd.
    apply (ref_bind (Forall2 Q)); [exact IH|]. intros cs ds Hs. apply ref_ret. now constructor.
Qed.

Lemma same {A} (l : list A) : Forall2 eq l l.
Proof. induction l; constructor; auto. Qed.

Lemma ref_mapM_same {A B B'} (Q : B -> B' -> Prop) (f : A -> possible B) (g : A -> option B') l :
  (forall a, refines Q (f a) (g a)) -> refines (Forall2 Q) (mapM f l) (mapM g l).
Proof. intros K. apply (ref_mapM eq); [apply same|]. intros a b <-. apply K. Qed.

Lemma ref_map2M {A A' B B' C C'} (P : A -> A' -> Prop) (Q : B -> B' -> Prop) (S : C -> C' ->
  Prop) f g l l' k k' :
  Forall2 P l l' -> Forall2 Q k k' -> (forall a a' b b', P a a' -> Q b b' ->
    refines S (f a b) (g a' b')) ->
  refines (Forall2 S) (map2M f l k) (map2M g l' k').
Proof.
  intros H. revert k k'. induction H as [|a a' l l' Ha Hl IH]; intros k k' H2 K; cbn [map2M].
  - apply ref_ret. constructor.
  - destruct H2 as [|b b' k k' Hb Hk]; [apply ref_ret; constructor|].
    apply (ref_bind S); [now apply K|]. intros c d Hcd.
    apply (ref_bind (Forall2 S)); [now apply IH|]. intros cs ds Hs. apply ref_ret. now constructor.
Qed.

Lemma ref_foldM {A B B'} (Q : B -> B' -> Prop) (f : B -> A -> possible B) (g : B' -> A ->
  option B') l :
  (forall b b' a, Q b b' -> refines Q (f b a) (g b' a)) -> forall b b', Q b b' ->
    refines Q (foldM f l b) (foldM g l b').
Proof.
  intros K. induction l as [|a l IH]; intros b b' H; cbn [foldM].
  - now apply ref_ret.
  - apply (ref_bind Q); [now apply K|]. intros c d Hcd. now apply IH.
Qed.

Lemma map_related {A A' B B'} (P : A -> A' -> Prop) (Q : B -> B' -> Prop) f g l l' :
  (forall a b, P a b -> Q (f a) (g b)) -> Forall2 P l l' -> Forall2 Q (map f l) (map g l').
Proof. intros K H. induction H; constructor; auto. Qed.
Lemma concat_related {A B} (P : A -> B -> Prop) l l' :
  Forall2 (Forall2 P) l l' -> Forall2 P (concat l) (concat l').
Proof. intros H. induction H; cbn; [constructor|]. now apply Forall2_app. Qed.
Lemma combine_related {A A' B B'} (P : A -> A' -> Prop) (Q : B -> B' -> Prop) l l' k k' :
  Forall2 P l l' -> Forall2 Q k k' -> Forall2 (both P Q) (combine l k) (combine l' k').
Proof. intros H. revert k k'. induction H; intros k k' K; cbn; [constructor|].
destruct K; constructor; try (now split); auto. Qed.
Lemma nth_related {A A'} (P : A -> A' -> Prop) l l' d d' i : Forall2 P l l' -> P d d' ->
  P (nth i l d) (nth i l' d').
Proof. intros H D. revert i. induction H; intros [|i]; cbn; auto. Qed.
Lemma hd_related {A A'} (P : A -> A' -> Prop) l l' d d' : Forall2 P l l' -> P d d' ->
  P (hd d l) (hd d' l').
Proof. intros H D. destruct H; cbn; auto. Qed.

(* ---------- a network with its weights in another form ---------- *)
Section Convert.
Context {C D : Type} (f : C -> D).
Definition step_map (s : delta_step C) : delta_step D :=
  match s with Householder k v b => Householder (map f k) (map f v) (f b) | RankOne k v r =>
    RankOne (map f k) (map f v) (map f r) end.
Definition head_map (h : head C) : head D :=
  {| Gate := option_map f (Gate h); Steps := map step_map (Steps h); Query := map f (Query h);
    Keys := Keys h; Values := Values h |}.
Definition mixer_map (m : mixer C) : mixer D :=
  match m with
  | Delta heads => Delta (map head_map heads)
  | Diagonal b k g w => Diagonal b k (map f g) (map f w)
  | Complex k a b c d => Complex k (map f a) (map f b) (map f c) (map f d)
  end.
Definition block_map (b : block C) : block D :=
  {| Mixer := mixer_map (Mixer b); Out := map f (Out b);
     Mlp := match Mlp b with None => None | Some (i, o) => Some (map f i, map f o) end |}.
Definition network_map (n : network C) : network D :=
  {| Two := Two n; Dim := Dim n; Rows := Rows n; Embedding := map f (Embedding n); Blocks :=
    map block_map (Blocks n); Readout := map f (Readout n) |}.
End Convert.

Section Sound.
Context {G D : Type} (dev : Arith f32 (list word) possible) (chk : Arith G D option) (f : list
  word -> D) (R : f32 -> G -> Prop).
Notation V := (Forall2 R).
Notation VV := (Forall2 (Forall2 R)).
Record sound_arith := {
  s_constant : forall z, refines R (@constant _ _ _ dev z) (@constant _ _ _ chk z);
  s_opposite : forall x x', R x x' -> refines R (@opposite _ _ _ dev x) (@opposite _ _ _ chk x');
  s_weighted : forall x x' c, V x x' -> refines R (@weighted_sum _ _ _ dev x c) (@weighted_sum _ _
    _ chk x' (f c));
  s_dot : forall x x' y y', V x x' -> V y y' -> refines R (@dot _ _ _ dev x y) (@dot _ _ _ chk x'
    y');
  s_sub : forall x x' y y', R x x' -> R y y' -> refines R (@sub _ _ _ dev x y) (@sub _ _ _ chk x'
    y');
  s_mul : forall x x' y y', R x x' -> R y y' -> refines R (@mul _ _ _ dev x y) (@mul _ _ _ chk x'
    y');
  s_add : forall x x' y y', R x x' -> R y y' -> refines R (@add _ _ _ dev x y) (@add _ _ _ chk x'
    y');
  s_quotient : forall x x' y y', R x x' -> R y y' -> refines R (@quotient _ _ _ dev x y)
    (@quotient _ _ _ chk x' y');
  s_sqroot : forall x x', R x x' -> refines R (@sqroot _ _ _ dev x) (@sqroot _ _ _ chk x');
  s_relu : forall x x', R x x' -> refines R (@relu _ _ _ dev x) (@relu _ _ _ chk x');
  s_sigmoid : forall x x', R x x' -> refines R (@sigmoid _ _ _ dev x) (@sigmoid _ _ _ chk x');
  s_tanh : forall x x', R x x' -> refines R (@tanh _ _ _ dev x) (@tanh _ _ _ chk x');
  s_gate : forall x x', R x x' -> refines R (@forget_gate _ _ _ dev x) (@forget_gate _ _ _ chk x');
  s_over_norm : forall x x' y y', R x x' -> R y y' -> refines R (@over_norm _ _ _ dev x y)
    (@over_norm _ _ _ chk x' y');
  s_at_least_one : forall x x', R x x' -> refines R (@at_least_one _ _ _ dev x) (@at_least_one _ _
    _ chk x') }.
Variable sound : sound_arith.

Tactic Notation "next" constr(P) := apply (ref_bind P); [|intros ? ? ?].

Lemma ref_mapM_map {A A' B B'} (Q : B -> B' -> Prop) (h : A -> A') (k : A ->
  possible B) (g : A' -> option B') l :
  (forall a, refines Q (k a) (g (h a))) -> refines (Forall2 Q) (mapM k l) (mapM g (map h l)).
Proof.
  intros K. apply (ref_mapM (fun a b => b = h a)).
  - induction l; constructor; auto.
  - intros a b ->. apply K.
Qed.
Lemma r_linear x x' w : V x x' -> refines V (linear x w) (linear x' (map f w)).
Proof. intros H. apply ref_mapM_map. intros. now apply s_weighted. Qed.
Lemma r_with_one x x' : V x x' -> refines V (with_one (AA:=dev) x) (with_one (AA:=chk) x').
Proof. intros H. next R; [apply s_constant, sound|]. apply ref_ret, Forall2_app; auto. Qed.
Lemma r_affine x x' w : V x x' -> refines V (affine x w) (affine x' (map f w)).
Proof. intros H. next V; [now apply r_with_one|]. now apply r_linear. Qed.
Lemma r_affine1 x x' w : V x x' -> refines R (affine1 x w) (affine1 x' (f w)).
Proof. intros H. next V; [now apply r_with_one|]. now apply s_weighted. Qed.
Lemma r_plus_product a a' x x' y y' : R a a' -> R x x' -> R y y' ->
  refines R (plus_product (AA:=dev) a x y) (plus_product (AA:=chk) a' x' y').
Proof. intros. next R; [apply s_constant, sound|]. apply s_dot; auto. Qed.
Lemma r_normalize k k' : V k k' -> refines V (normalize (AA:=dev) k) (normalize (AA:=chk) k').
Proof.
  intros H. next R; [now apply s_dot|]. next R; [now apply s_sqroot|].
  apply (ref_mapM R); auto. intros. now apply s_over_norm.
Qed.
Lemma r_twice_sigmoid z z' : R z z' -> refines R (twice_sigmoid (AA:=dev) z) (twice_sigmoid
  (AA:=chk) z').
Proof. intros. next R; [now apply s_sigmoid|]. next R; [apply s_constant, sound|].
now apply s_mul. Qed.
Lemma r_one_step x x' s s' p : V x x' -> VV s s' -> refines VV (one_step x s p) (one_step x' s'
  (step_map f p)).
Proof.
  intros H HS. destruct p as [key value beta|key value rate]; cbn [one_step step_map].
  - next V; [now apply r_linear|]. next V; [now apply r_normalize|]. next V; [now apply r_linear|].
    next R; [now apply r_affine1|]. next R; [now apply r_twice_sigmoid|].
    apply (ref_map2M V R V); auto. intros.
    next R; [now apply s_dot|]. next R; [now apply s_sub|]. next R; [now apply s_mul|].
    apply (ref_map2M R R R); auto. intros. now apply r_plus_product.
  - next V; [now apply r_linear|]. next V; [now apply r_normalize|]. next V; [now apply r_linear|].
    next V; [now apply r_affine|]. next V; [apply (ref_mapM R); auto; intros;
      now apply r_twice_sigmoid|].
    next V; [apply (ref_map2M R R R); auto; intros; now apply s_mul|].
    apply (ref_map2M V R V); auto. intros.
    next R; [now apply s_dot|]. next R; [now apply s_sub|].
    apply (ref_map2M R R R); auto. intros. now apply r_plus_product.
Qed.
Lemma ref_foldM_map {A A' B B'} (Q : B -> B' -> Prop) (h : A -> A') (k : B -> A ->
  possible B) (g : B' -> A' -> option B') l :
  (forall b b' a, Q b b' -> refines Q (k b a) (g b' (h a))) -> forall b b', Q b b' ->
    refines Q (foldM k l b) (foldM g (map h l) b').
Proof.
  intros K. induction l as [|a l IH]; intros b b' H; cbn [foldM map]; [now apply ref_ret|].
  apply (ref_bind Q); [now apply K|]. intros c d Hcd. now apply IH.
Qed.
Lemma r_one_head x x' h s s' : V x x' -> VV s s' -> refines (both V VV) (one_head x h s) (one_head
  x' (head_map f h) s').
Proof.
  intros H HS. unfold one_head. cbn [head_map Gate Steps Query].
  next VV.
  { destruct (Gate h) as [w|]; cbn [option_map]; [|now apply ref_ret].
    next R; [now apply r_affine1|]. next R; [now apply s_gate|].
    apply (ref_mapM V); auto; intros; apply (ref_mapM R); auto; intros; now apply s_mul. }
  next VV; [apply ref_foldM_map; auto; intros; now apply r_one_step|].
  next V; [now apply r_linear|].
  next V; [apply (ref_mapM V); auto; intros; now apply s_dot|]. apply ref_ret. now split.
Qed.
Lemma r_complex_gate a a' b b' : R a a' -> R b b' -> refines (both R R) (complex_gate (AA:=dev) a
  b) (complex_gate (AA:=chk) a' b').
Proof.
  intros. next R; [apply s_dot; auto|]. next R; [now apply s_at_least_one|].
  next R; [now apply s_sqroot|].
  next R; [now apply s_quotient|]. next R; [now apply s_quotient|]. apply ref_ret. now split.
Qed.
Lemma r_complex_product g g' h h' : both R R g g' -> both R R h h' ->
  refines (both R R) (complex_product (AA:=dev) g h) (complex_product (AA:=chk) g' h').
Proof.
  intros [? ?] [? ?]. next R; [now apply s_opposite|]. next R; [apply s_dot; auto|].
  next R; [apply s_dot; auto|]. apply ref_ret. now split.
Qed.
Notation MR := (Forall2 (Forall2 (Forall2 R))).
Lemma r_mix m x x' s s' : V x x' -> MR s s' -> refines (both V MR) (mix m x s) (mix (mixer_map f
  m) x' s').
Proof.
  intros H HS. destruct m as [heads|b k gate write|k gr gi wr wi]; cbn [mix mixer_map].
  - next (Forall2 (both V VV)).
    + apply (ref_map2M (fun a b => b = head_map f a) VV); auto.
      * induction heads; constructor; auto.
      * intros h h' t t' -> Ht. now apply r_one_head.
    + apply ref_ret. split; cbn.
      * apply concat_related. apply (map_related (both V VV)); auto. intros ? ? [? ?]; auto.
      * apply (map_related (both V VV)); auto. intros ? ? [? ?]; auto.
  - next V; [now apply r_affine|].
    next V; [apply (ref_mapM R); auto; intros; destruct b; cbn; [now apply s_sigmoid|now apply
      s_tanh]|].
    next V; [now apply r_linear|]. next V.
    + apply (ref_map2M (both R R) R R); auto.
      * apply combine_related; auto. apply hd_related; auto. apply hd_related; auto.
      * intros [? ?] [? ?] ? ? [? ?] ?. now apply r_plus_product.
    + apply ref_ret. split; cbn; repeat constructor; auto.
  - next V; [now apply r_affine|]. next V; [now apply r_affine|].
    next (Forall2 (both R R)); [apply (ref_map2M R R (both R R)); auto; intros;
      now apply r_complex_gate|].
    next (Forall2 (both R R)).
    + apply (ref_map2M (both R R) (both R R)); auto.
      * apply combine_related; [apply hd_related|apply nth_related]; auto; apply hd_related; auto.
      * intros. now apply r_complex_product.
    + next V; [now apply r_linear|]. next V; [now apply r_linear|].
      next V; [apply (ref_map2M R R R); auto; [|intros; now apply s_add];
        apply (map_related (both R R)); auto; now intros ? ? [? ?]|].
      next V; [apply (ref_map2M R R R); auto; [|intros; now apply s_add];
        apply (map_related (both R R)); auto; now intros ? ? [? ?]|].
      apply ref_ret. split; cbn; [now apply Forall2_app|repeat constructor; auto].
Qed.
Notation TR := (both (both MR V) V).
Notation SR := (Forall2 TR).
Lemma r_window two x x' b b' : V x x' -> V b b' -> V (window two x b) (window two x' b').
Proof. intros. destruct two; cbn; auto. now apply Forall2_app. Qed.
Lemma r_for_next two x x' : V x x' -> V (for_next two x) (for_next two x').
Proof. intros. destruct two; cbn; auto. Qed.
Lemma r_one_block two b x x' s s' : V x x' -> TR s s' -> refines (both V TR) (one_block two b x s)
  (one_block two (block_map f b) x' s').
Proof.
  intros H. destruct s as [[m p] q], s' as [[m' p'] q']. intros [[Hm Hp] Hq]. cbn in Hm, Hp, Hq.
  cbn [one_block].
  next (both V MR); [apply r_mix; auto; now apply r_window|].
  destruct a as [r m1], b0 as [r' m1'], H0 as [Hr Hm1]; cbn in Hr, Hm1.
  next V; [now apply r_linear|]. next V; [apply (ref_map2M R R R); auto; intros; now apply s_add|].
  cbn [block_map Mlp]. destruct (Mlp b) as [[win wout]|].
  - next V; [apply r_affine; now apply r_window|]. next V; [apply (ref_mapM R); auto; intros;
      now apply s_relu|].
    next V; [now apply r_linear|]. next V; [apply (ref_map2M R R R); auto; intros;
      now apply s_add|].
    apply ref_ret. repeat split; cbn; auto; now apply r_for_next.
  - apply ref_ret. repeat split; cbn; auto; now apply r_for_next.
Qed.
Lemma r_all_blocks two bs x x' s s' : V x x' -> SR s s' ->
  refines (both V SR) (all_blocks two bs x s) (all_blocks two (map (block_map f) bs) x' s').
Proof.
  revert x x' s s'. induction bs as [|b bs IH]; intros x x' s s' H HS; cbn [all_blocks map].
  - apply ref_ret. split; cbn; auto.
  - destruct HS as [|t t' s s' Ht HS]; [apply ref_ret; split; cbn; auto|].
    next (both V TR); [now apply r_one_block|].
    destruct a as [y t1], b0 as [y' t1'], H0 as [Hy Ht1]; cbn in Hy, Ht1.
    next (both V SR); [now apply IH|]. destruct a as [z s1], b0 as [z' s1'], H0 as [Hz Hs1];
      cbn in Hz, Hs1.
    apply ref_ret. split; cbn; auto.
Qed.
Lemma r_letter n a : refines V (letter_vector n a) (letter_vector (network_map f n) a).
Proof.
  unfold letter_vector. cbn [network_map Embedding Rows].
  next V; [apply ref_mapM_same; intros; apply s_constant, sound|]. now apply r_linear.
Qed.
Lemma r_step n s s' a : SR s s' -> refines (both V SR) (step n s a) (step (network_map f n) s' a).
Proof.
  intros HS. next V; [apply r_letter|]. next (both V SR); [now apply r_all_blocks|].
  destruct a1 as [z s1], b0 as [z' s1'], H0 as [Hz Hs1]; cbn in Hz, Hs1.
  next V; [now apply r_affine|]. apply ref_ret. split; cbn; auto.
Qed.
Lemma r_zeros k : refines V (zeros (AA:=dev) k) (zeros (AA:=chk) k).
Proof. apply ref_mapM_same. intros. apply s_constant, sound. Qed.
Lemma r_start n : refines SR (start n) (start (network_map f n)).
Proof.
  apply ref_mapM_map. intros b. next MR.
  - cbn [block_map Mixer]. destruct (Mixer b) as [heads|? k ? ?|k ? ? ? ?]; cbn [empty mixer_map].
    + apply ref_mapM_map. intros h. apply ref_mapM_same. intros. apply r_zeros.
    + next V; [apply r_zeros|]. apply ref_ret. repeat constructor; auto.
    + next V; [apply r_zeros|]. apply ref_ret. repeat constructor; auto.
  - next V; [apply r_zeros|]. apply ref_ret. repeat split; cbn; auto; now apply r_for_next.
Qed.

(* ---------- the checker: states are explored, starting from the first; the hints say which one a
   letter leads to ---------- *)
Variables (equal less : G -> G -> bool).
Hypothesis equal_ok : forall x y, equal x y = true -> x = y.
Hypothesis less_ok : forall x x' y y', R x x' -> R y y' -> less x' y' = true -> smaller x y = true.

Fixpoint all2 {A} (e : A -> A -> bool) (l k : list A) : bool :=
  match l, k with [], [] => true | a :: l, b :: k => if e a b then all2 e l k else false | _, _ =>
    false end.
Definition same_state : state (F:=G) -> state (F:=G) -> bool :=
  all2 (fun s t => all2 (all2 (all2 equal)) (fst (fst s)) (fst (fst t)) &&
    all2 equal (snd (fst s)) (snd (fst t)) && all2 equal (snd s) (snd t)).
Lemma all2_ok {A} (e : A -> A -> bool) : (forall x y, e x y = true -> x = y) ->
  forall l k, all2 e l k = true -> l = k.
Proof.
  intros H l. induction l as [|a l IH]; intros [|b k] E; cbn in E; try discriminate; auto.
  destruct (e a b) eqn:Eab; [|discriminate]. apply H in Eab. apply IH in E. congruence.
Qed.
Lemma same_state_ok s t : same_state s t = true -> s = t.
Proof.
  apply all2_ok. intros [[a b] c] [[x y] z] E. cbn in E. apply andb_prop in E as [E E3].
  apply andb_prop in E as [E1 E2].
  apply (all2_ok _ (all2_ok _ (all2_ok _ equal_ok))) in E1. apply (all2_ok _ equal_ok) in E2, E3.
  congruence.
Qed.

Notation pair := (state (F:=G) * nat)%type.
Definition leadsb (y : list G) (q : nat) : bool :=
  match nth_error y q with
  | None => false
  | Some top => forallb (fun p => if Nat.eqb (fst p) q then true else less (snd p) top) (combine
    (seq 0 (length y)) y)
  end.
(* one letter: the step exists, the right logit leads, and the next pair is the one at the hint,
   or new *)
Definition one_letter (n : network D) (d : automaton) (p : pair) (a j : nat) (seen : list pair) :
  option (list pair) :=
  match step n (fst p) a with
  | None => None
  | Some (y, t) =>
      let q := follow d (snd p) a in
      if (length y =? length (Table d))%nat && leadsb y q then
        match nth_error seen j with
        | Some r => if (snd r =? q)%nat && same_state t (fst r) then Some [] else None
        | None => Some [(t, q)]
        end
      else None
  end.
Fixpoint letters_from (n : network D) (d : automaton) (p : pair) (a : nat) (hints : list nat)
  (seen todo : list pair) : option (list pair * list pair) :=
  match hints with
  | [] => if (a =? Letters d)%nat then Some (seen, todo) else None
  | j :: hints =>
      match one_letter n d p a j seen with
      | None => None
      | Some fresh => letters_from n d p (S a) hints (seen ++ fresh) (todo ++ fresh)
      end
  end.
Fixpoint explore (n : network D) (d : automaton) (hints : list (list nat)) (seen todo : list pair)
  : bool :=
  match todo, hints with
  | [], _ => true
  | p :: todo, h :: hints =>
      match letters_from n d p 0 h seen todo with Some (seen, todo) => explore n d hints seen todo
        | None => false end
  | _, [] => false
  end.
Definition closed (n : network D) (d : automaton) (hints : list (list nat)) : bool :=
  is_complete d && match start n with Some s => explore n d hints [(s, First d)] [(s, First d)] |
    None => false end.

Definition good (n : network D) (d : automaton) (seen : list pair) (p : pair) (a : nat) : Prop :=
  exists y t, step n (fst p) a = Some (y, t) /\ length y = length (Table d) /\
    leadsb y (follow d (snd p) a) = true /\ In (t, follow d (snd p) a) seen.
Definition all_good n d seen p := forall a, (a < Letters d)%nat -> good n d seen p a.
Lemma good_more n d seen more p a : good n d seen p a -> good n d (seen ++ more) p a.
Proof. intros (y & t & H1 & H2 & H3 & H4). exists y, t. repeat split; auto. apply in_or_app. auto.
Qed.
Lemma one_letter_ok n d p a j seen fresh : one_letter n d p a j seen = Some fresh ->
  good n d (seen ++ fresh) p a.
Proof.
  unfold one_letter. destruct (step n (fst p) a) as [[y t]|] eqn:E; [|discriminate].
  destruct ((length y =? length (Table d))%nat && leadsb y (follow d (snd p) a)) eqn:L;
    [|discriminate].
  apply andb_prop in L as [L1 L2]. apply Nat.eqb_eq in L1. intros H. exists y, t.
  repeat split; auto.
  destruct (nth_error seen j) as [[s q]|] eqn:Ej.
  - destruct ((snd (s, q) =? follow d (snd p) a)%nat && same_state t (fst (s, q))) eqn:S;
      [|discriminate]. injection H as <-.
    apply andb_prop in S as [S1 S2]. cbn in S1, S2. apply Nat.eqb_eq in S1.
    apply same_state_ok in S2. subst.
    rewrite app_nil_r. now apply nth_error_In in Ej.
  - injection H as <-. apply in_or_app. cbn. auto.
Qed.
Lemma letters_from_ok n d p hints : forall a seen todo seen' todo',
  letters_from n d p a hints seen todo = Some (seen', todo') ->
  (forall b, (b < a)%nat -> good n d seen p b) ->
  all_good n d seen' p /\ exists fresh, seen' = seen ++ fresh /\ todo' = todo ++ fresh.
Proof.
  induction hints as [|j hints IH]; intros a seen todo seen' todo' E H; cbn [letters_from] in E.
  - destruct (Nat.eqb_spec a (Letters d)) as [->|]; [|discriminate]. injection E as <- <-. split;
      [exact H|].
    exists []. now rewrite !app_nil_r.
  - destruct (one_letter n d p a j seen) as [fresh|] eqn:E1; [|discriminate].
    apply one_letter_ok in E1.
    destruct (IH _ _ _ _ _ E) as [A [more [-> ->]]].
    + intros b Hb. destruct (Nat.eq_dec b a) as [->|]; auto. apply good_more, H. lia.
    + split; auto. exists (fresh ++ more). now rewrite !app_assoc.
Qed.
Lemma explore_ok n d hints : forall seen todo, explore n d hints seen todo = true ->
  (forall p, In p seen -> In p todo \/ all_good n d seen p) ->
  exists all, (forall p, In p seen -> In p all) /\ forall p, In p all -> all_good n d all p.
Proof.
  induction hints as [|h hints IH]; intros seen [|p todo] E H; cbn [explore] in E;
    try discriminate.
  - exists seen. split; auto. intros p Hp. destruct (H p Hp) as [[]|]; auto.
  - exists seen. split; auto. intros p Hp. destruct (H p Hp) as [[]|]; auto.
  - destruct (letters_from n d p 0 h seen todo) as [[seen' todo']|] eqn:L; [|discriminate].
    apply letters_from_ok in L as [A [fresh [-> ->]]]; [|intros; lia].
    destruct (IH _ _ E) as [all [B C]].
    + intros r Hr. apply in_app_or in Hr as [Hr|Hr].
      * destruct (H r Hr) as [[->|Ht]|G0]; [right; exact A|left; apply in_or_app; auto|].
        right. intros a Ha. now apply good_more, G0.
      * left. apply in_or_app. auto.
    + exists all. split; auto. intros r Hr. apply B, in_or_app. auto.
Qed.

Lemma leadsb_ok y y' q : V y y' -> leadsb y' q = true -> strictly_largest y q.
Proof.
  intros H E. unfold leadsb in E. destruct (nth_error y' q) as [top|] eqn:Et; [|discriminate].
  assert (Hq : (q < length y')%nat) by (apply nth_error_Some; congruence).
  assert (HL : length y = length y') by (clear - H; induction H; cbn; congruence). split; [lia|].
  intros j Hj Hne.
  assert (Hrel : forall i d, (i < length y')%nat -> R (nth i y zero) (nth i y' d)).
  { intros i d. clear - H. revert i. induction H as [|a b l l' Hab Hl IH]; intros [|i] Hi;
      cbn in *; try lia; auto. apply IH; lia. }
  rewrite forallb_forall in E. specialize (E (j, nth j y' top)). cbn in E.
  rewrite (proj2 (Nat.eqb_neq j q) Hne) in E.
  apply (less_ok _ (nth j y' top) _ (nth q y' top)).
  - apply Hrel. lia.
  - apply Hrel. lia.
  - rewrite (nth_error_nth y' q top Et). apply E.
    replace (j, nth j y' top) with (nth j (combine (seq 0 (length y')) y') (O, top)).
    + apply nth_In. rewrite combine_length, seq_length. lia.
    + rewrite combine_nth by apply seq_length. rewrite seq_nth by lia. reflexivity.
Qed.

Theorem closed_is_right n d hints : closed (network_map f n) d hints = true ->
  forall w a, Forall (fun b => (b < Letters d)%nat) (w ++ [a]) ->
  forall y, logits_after dev n w a y -> length y = length (Table d) /\ strictly_largest y (run d
    (w ++ [a])).
Proof.
  intros K. unfold closed in K. apply andb_prop in K as [_ K].
  destruct (@start G D option _ chk (network_map f n)) as [s0|] eqn:E0; [|discriminate].
  apply explore_ok in K as [all [B K]]; [|intros p Hp; left; exact Hp].
  assert (next : forall s s' q a y t, In (s', q) all -> SR s s' -> (a < Letters d)%nat ->
    step n s a (y, t) ->
      (length y = length (Table d) /\ strictly_largest y (follow d q a)) /\ exists t', In (t',
        follow d q a) all /\ SR t t').
  { intros s s' q a y t HI HS Ha Hstep. destruct (K _ HI a Ha) as (y' & t' & E & L1 & L2 & I).
    cbn [fst snd] in *.
    destruct (r_step n s s' a HS _ E _ Hstep) as [Hy Ht]. cbn in Hy, Ht.
    split; [|exists t'; split; auto]. split; [|now apply (leadsb_ok y y')].
    rewrite <- L1. clear - Hy. induction Hy; cbn; congruence. }
  assert (each : forall w s, leads_to dev n w s -> Forall (fun b => (b < Letters d)%nat) w ->
      exists s', In (s', run d w) all /\ SR s s').
  { intros w s Hr. induction Hr as [s Hs|w s a y t Hr IH Hstep]; intros HF.
    - exists s0. split; [apply B; cbn; auto|]. exact (r_start n _ E0 _ Hs).
    - apply Forall_app in HF as [HF Ha]. inversion Ha; subst. destruct (IH HF) as [s' [HI HS]].
      destruct (next s s' _ a y t HI HS H1 Hstep) as [_ [t' [HI' HS']]]. exists t'.
      unfold run in *. rewrite fold_left_app. auto. }
  intros w a HF y [s [t [Hr Hstep]]]. apply Forall_app in HF as [HF Ha]. inversion Ha; subst.
  destruct (each w s Hr HF) as [s' [HI HS]]. destruct (next s s' _ a y t HI HS H1 Hstep) as [HL _].
  unfold run in *. rewrite fold_left_app. exact HL.
Qed.
End Sound.
