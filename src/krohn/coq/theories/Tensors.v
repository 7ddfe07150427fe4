(* To be read: the tensors of a safetensors file and its bytes.  No proofs here. *)
From Coq Require Export String DecimalString.
From Krohn Require Export Float32 Sha256.
Import ListNotations.
Local Open Scope string_scope.
(* The words of a tensor, row by row; Run n w stands for n times the word w. *)
Inductive run_of_words := Run (n : N) (w : Z).
Record label := { Name : string; Type_ : string; Shape : list nat }.
Record tensor := { Label : label; Runs : list run_of_words }.
Definition words_of (t : tensor) : list word :=
  flat_map (fun r => let '(Run n w) := r in repeat w (N.to_nat n)) (Runs t).
Definition size_of (l : label) : nat := fold_right Nat.mul 1%nat (Shape l).
Definition bytes_of (l : label) : nat := if Type_ l =? "F32" then 4 else 8.
(* {"name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},...}, filled with spaces; before
   it its length, after it the words *)
Definition decimal (n : nat) : string := NilEmpty.string_of_uint (Nat.to_uint n).
Fixpoint entries (begin : N) (ls : list label) : list string :=
  match ls with
  | [] => []
  | l :: ls =>
      let stop := (begin + N.of_nat (bytes_of l) * N.of_nat (size_of l))%N in
      let n z := NilEmpty.string_of_uint (N.to_uint z) in
      ("""" ++ Name l ++ """:{""dtype"":""" ++ Type_ l ++
       """,""shape"":[" ++ String.concat "," (map decimal (Shape l)) ++
       "],""data_offsets"":[" ++ n begin ++ "," ++ n stop ++ "]}") :: entries stop ls
  end.
Definition file_with (first : list string) (ts : list tensor) : list Z :=
  let h := text ("{" ++ String.concat "," (first ++ entries 0 (map Label ts))%list ++ "}") in
  let header := (h ++ repeat 32%Z ((8 - List.length h mod 8) mod 8))%list in
  (little_endian 8 (Z.of_nat (List.length header)) ++ header ++
   flat_map (fun t => flat_map (little_endian (bytes_of (Label t))) (words_of t)) ts)%list.
Definition file_of : list tensor -> list Z := file_with [].
(* A line, which says what the shapes leave open, a line with the names of letters and states, and
   the file after them have this hash; the file has exactly these tensors, and as many words as
   their shapes say.  first: an entry of the file before its tensors, if there is one *)
Definition described (line : string) (names : list Z) (first : list string) (ts : list tensor)
  : list Z := (text line ++ 10%Z :: names ++ 10%Z :: file_with first ts)%list.
Definition is_file (hash : Z) (line : string) (names : list Z) (first : list string)
  (expected : list label) (ts : list tensor) : Prop :=
  sha256 (described line names first ts) = hash /\ Permutation expected (map Label ts) /\
  Forall (fun t => List.length (words_of t) = size_of (Label t)) ts.
(* A tensor by its name, as one list of words, or as a matrix by its columns, *)
Definition words_named (ts : list tensor) (name : string) : list word :=
  match find (fun t => Name (Label t) =? name) ts with Some t => words_of t | None => [] end.
Fixpoint pieces {A} (n size : nat) (l : list A) : list (list A) :=
  match n with O => [] | S k => firstn size l :: pieces k size (skipn size l) end.
Definition columns {A} (cols : nat) (rows : list (list A)) : list (list A) :=
  fold_right (fun r t => map (fun p => fst p :: snd p) (combine r t)) (repeat [] cols) rows.
