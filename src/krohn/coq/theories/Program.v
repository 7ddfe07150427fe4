(* The checker as one function, and the theorem that its yes means that the network is right.  The
   program krohn-kernel is this function in OCaml; Coq computes [holds] of the same numbers. *)
From Coq Require Import ZArith List Bool String.
From Krohn Require Import Claims Fits Counting Counted Scan Contracting Numbers.
From Krohn Require Exact OneOrder Certificate TransformerCertificate.
Import ListNotations.
Local Open Scope bool_scope.

Definition labels_of (c : claim) : list label :=
  match c with
  | TransformerUpTo _ z _ => transformer_labels z
  | RecurrentInOrder _ k z _ => labels (mixer_of_kind k) z
  | TrainedLstm z _ => Lstm.lstm_labels z
  end.
(* all of a list, and nothing after it *)
Definition whole {A} (r : read A) (check : A -> bool) (l : list Z) : bool :=
  match r l with Some (a, []) => check a | _ => false end.
Definition holds (c : claim) (hints : list Z) (ts : list tensor) : bool :=
  match c with
  | TransformerUpTo T z d => match hints with
      | (5 :: 0 :: hints)%Z => whole read_counting (TransformerCertificate.transformer_answers
          counts_right T z ts d) hints
      | (5 :: 1 :: hints)%Z => whole read_scanning (TransformerCertificate.transformer_answers
          scans_right T z ts d) hints
      | _ => false end
  | RecurrentInOrder o k z d => whole (many (many natural)) (Certificate.answers_right
      match o with AnyOrder => Exact.closed_in_any_order
                 | LeftToRight => OneOrder.closed_in_one_order end k z ts d) hints
  | TrainedLstm z d => whole (many read_region) (lstm_answers z ts d) hints
  end.
Lemma whole_ok {A} (r : read A) check l : whole r check l = true -> exists a, check a = true.
Proof.
  unfold whole. destruct (r l) as [[a [|x k]]|]; try discriminate. intros H. now exists a.
Qed.
Theorem holds_is_right hash names c hints ts : holds c hints ts = true ->
  sha256 (described (line_of c) names (first_of c) ts) = hash -> is_right hash names c ts.
Proof.
  unfold holds. destruct c as [T z d|o k z d|z d]; cbn [line_of first_of is_right]; intros H E.
  - destruct hints as [|a l]; [discriminate|].
    repeat match type of H with
           | match ?x with _ => _ end = true => destruct x; try discriminate end;
      apply whole_ok in H as [g H].
    + eapply TransformerCertificate.transformer_answers_ok; eauto. apply counts_right_sound.
    + eapply TransformerCertificate.transformer_answers_ok; eauto. apply scans_right_sound.
  - apply whole_ok in H as [g H]. destruct o; eapply Certificate.answers_right_ok; eauto.
    + apply Exact.any_order_right.
    + apply OneOrder.one_order_right.
  - apply whole_ok in H as [g H]. eapply by_boxes; eauto.
Qed.

(* ---------- certificates ---------- *)
(* a claim; for each tensor of the file its number among those that the claim names; hints *)
Definition read_certificate : read (claim * list nat) :=
  c <- read_claim ;; o <- many natural ;; made (c, o).
Definition claimed (certificate : list Z) : option claim :=
  option_map fst (option_map fst (read_certificate certificate)).
Definition in_order (c : claim) (o : list nat) : list label :=
  let ls := labels_of c in map (fun i => nth i ls {| Name := ""; Type_ := ""; Shape := [] |}) o.

(* ---------- for Coq: the words of each tensor, as pairs of how many and which ---------- *)
Fixpoint runs (l : list Z) : list run_of_words :=
  match l with n :: w :: l => Run (Z.to_N n) w :: runs l | _ => [] end.
Definition tensors_of (c : claim) (o : list nat) (words : list (list Z)) : list tensor :=
  map (fun p => {| Label := fst p; Runs := runs (snd p) |}) (combine (in_order c o) words).
Definition proved (hash : Z) (names certificate : list Z) (words : list (list Z)) : bool :=
  match read_certificate certificate with
  | Some ((c, o), hints) => let ts := tensors_of c o words in
      holds c hints ts && Z.eqb (sha256 (described (line_of c) names (first_of c) ts)) hash
  | None => false end.
(* the claim as it is printed; where there is none, one that is not proved *)
Definition claim_of (certificate : list Z) : claim :=
  match claimed certificate with Some c => c | None =>
    TrainedLstm (Lstm.Build_lsizes 0 0 0 0 0) {| First := 0; Letters := 0; Table := [] |} end.
(* The hash determines the tensors. *)
Theorem by_coq hash names certificate words c : claim_of certificate = c ->
  proved hash names certificate words = true -> exists ts, is_right hash names c ts.
Proof.
  unfold claim_of, claimed, proved. destruct (read_certificate certificate) as
    [[[c' o] hints]|]; [|discriminate].
  cbn [option_map fst]. intros E H. rewrite <- E. exists (tensors_of c' o words).
  apply andb_prop in H as [H1 H2]. apply Z.eqb_eq in H2. now apply holds_is_right with hints.
Qed.

(* ---------- for the program: the bytes of the file ---------- *)
Fixpoint words_in (n k : nat) (bytes : list Z) : list Z :=
  match n, bytes with
  | S n, _ :: _ => fold_right (fun b z => b + 256 * z)%Z 0%Z (firstn k bytes) ::
                   words_in n k (skipn k bytes)
  | _, _ => [] end.
Fixpoint cut_up (ls : list label) (bytes : list Z) : list tensor :=
  match ls with
  | [] => []
  | l :: ls => {| Label := l; Runs := map (Run 1) (words_in (size_of l) (bytes_of l) bytes) |} ::
               cut_up ls (skipn (size_of l * bytes_of l) bytes) end.
Definition tensors_in (c : claim) (o : list nat) (bytes : list Z) : list tensor :=
  let ls := in_order c o in
  let header := file_with (first_of c) (map (fun l => {| Label := l; Runs := [] |}) ls) in
  cut_up ls (skipn (List.length header) bytes).
Fixpoint same_bytes (k l : list Z) : bool :=
  match k, l with
  | [], [] => true
  | a :: k, b :: l => Z.eqb a b && same_bytes k l
  | _, _ => false end.
Lemma same_bytes_ok k : forall l, same_bytes k l = true -> k = l.
Proof.
  induction k as [|a k IH]; intros [|b l] H; try discriminate; [reflexivity|].
  cbn in H. apply andb_prop in H as [H1 H2]. apply Z.eqb_eq in H1. rewrite H1. f_equal. auto.
Qed.
Definition check (bytes certificate : list Z) : bool :=
  match read_certificate certificate with
  | Some ((c, o), hints) => let ts := tensors_in c o bytes in
      same_bytes (file_with (first_of c) ts) bytes && holds c hints ts
  | None => false end.
(* If the program says yes, the network in the file is right: the file has tensors, of which the
   claim holds, whatever the names in the hash are. *)
Theorem check_is_right bytes certificate : check bytes certificate = true ->
  exists c ts, claimed certificate = Some c /\ file_with (first_of c) ts = bytes /\
  forall names, is_right (sha256 (described (line_of c) names (first_of c) ts)) names c ts.
Proof.
  unfold check, claimed. destruct (read_certificate certificate) as [[[c o] hints]|];
    [|discriminate].
  intros H. apply andb_prop in H as [H1 H2]. apply same_bytes_ok in H1.
  exists c, (tensors_in c o bytes). split; [reflexivity|]. split; [exact H1|]. intros names.
  now apply holds_is_right with hints.
Qed.
