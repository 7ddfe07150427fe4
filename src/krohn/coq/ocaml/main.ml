(* krohn-kernel NETWORK CERTIFICATE: reads both files, asks Checker.check, and prints the claim.
   Nothing here is proved but what Checker computes; the claim that is printed is the checker's own. *)
exception Bad of string

let contents path =
  let channel = open_in_bin path in
  Fun.protect ~finally:(fun () -> close_in channel) (fun () ->
      really_input_string channel (in_channel_length channel))

(* JSON as far as certificates need it: whole numbers, arrays, strings, objects *)
type json = Number of Z.t | Array of json list | Text | Fields of (string * json) list

let deepest = 20

let parse text =
  let at = ref 0 and size = String.length text in
  let fail () = raise (Bad (Printf.sprintf "it is no JSON of whole numbers (byte %d)" !at)) in
  let rec peek () =
    if !at >= size then fail ()
    else match text.[!at] with ' ' | '\n' | '\r' | '\t' -> incr at; peek () | c -> c in
  let expect c = if peek () = c then incr at else fail () in
  let string () =
    expect '"';
    let start = !at in
    while !at < size && text.[!at] <> '"' do
      at := !at + if text.[!at] = '\\' then 2 else 1
    done;
    if !at >= size then fail ();
    incr at;
    String.sub text start (!at - 1 - start) in
  let number () =
    let start = !at in
    if text.[!at] = '-' then incr at;
    while !at < size && text.[!at] >= '0' && text.[!at] <= '9' do incr at done;
    if !at - start > 400 then fail ();
    try Z.of_string (String.sub text start (!at - start)) with Invalid_argument _ -> fail () in
  let rec value depth =
    if depth > deepest then fail ();
    match peek () with
    | '"' -> ignore (string ()); Text
    | '[' -> incr at; Array (items ']' (fun () -> value (depth + 1)))
    | '{' -> incr at; Fields (items '}' (fun () ->
        ignore (peek ());
        let key = string () in
        expect ':';
        (key, value (depth + 1))))
    | '-' | '0' .. '9' -> Number (number ())
    | _ -> fail ()
  and items : 'a. char -> (unit -> 'a) -> 'a list = fun stop item ->
    if peek () = stop then (incr at; [])
    else
      let rec more found =
        let found = item () :: found in
        match peek () with
        | ',' -> incr at; more found
        | c when c = stop -> incr at; List.rev found
        | _ -> fail () in
      more [] in
  let whole = value 0 in
  while !at < size do
    (match text.[!at] with ' ' | '\n' | '\r' | '\t' -> () | _ -> fail ());
    incr at
  done;
  whole

(* each array with its length before it *)
let rec flat value rest =
  match value with
  | Number n -> n :: rest
  | Array items -> Z.of_int (List.length items) :: List.fold_right flat items rest
  | Text | Fields _ -> raise (Bad "claim, order and hints must be arrays of whole numbers")

let numbers = function
  | Fields fields ->
      let field key = match List.filter (fun (k, _) -> k = key) fields with
        | [ (_, value) ] -> value
        | _ -> raise (Bad (Printf.sprintf "it must have one field %S" key)) in
      flat (field "claim") (flat (field "order") (flat (field "hints") []))
  | _ -> raise (Bad "it must be an object with claim, order and hints")

let table machine =
  let row states = "  " ^ String.concat " " (List.map Z.to_string states) in
  Printf.sprintf "automaton: start %s, %s letters; the state after each letter, a row for each state:\n%s"
    (Z.to_string machine.Checker.first) (Z.to_string machine.Checker.letters)
    (String.concat "\n" (List.map row machine.Checker.table))

let meaning claim =
  let line = String.of_seq (List.to_seq (Checker.line_of claim)) in
  let how, machine = match claim with
    | Checker.TransformerUpTo (longest, _, machine) ->
        ("every word of at most " ^ Z.to_string longest ^ " letters, sums in any order", machine)
    | Checker.RecurrentInOrder (Checker.AnyOrder, _, _, machine) ->
        ("every word, letter by letter, sums in any order", machine)
    | Checker.RecurrentInOrder (Checker.LeftToRight, _, _, machine) ->
        ("every word, letter by letter, sums from left to right and not fused alone", machine)
    | Checker.TrainedLstm (_, machine) -> ("every word, letter by letter, sums in any order", machine) in
  Printf.sprintf "%s; float32; %s\n%s" line how (table machine)

(* Lists are as long as the file: they need a deep stack, which a program cannot give to itself. *)
let with_a_deep_stack () =
  if Sys.getenv_opt "KROHN_KERNEL_STACK" = None then begin
    Unix.putenv "KROHN_KERNEL_STACK" "asked";
    let script = "ulimit -s unlimited 2>/dev/null || ulimit -s \"$(ulimit -H -s)\"; exec \"$0\" \"$@\"" in
    let arguments = Array.sub Sys.argv 1 (Array.length Sys.argv - 1) in
    try Unix.execv "/bin/sh" (Array.append [| "sh"; "-c"; script; Sys.executable_name |] arguments)
    with Unix.Unix_error _ -> ()
  end

let refuse reason = prerr_endline ("krohn-kernel: " ^ reason); exit 2

let () =
  match Sys.argv with
  | [| _; network; certificate |] -> (
      with_a_deep_stack ();
      try
        let bytes = List.map (fun c -> Z.of_int (Char.code c)) (List.of_seq (String.to_seq (contents network))) in
        let numbers = try numbers (parse (contents certificate))
          with Bad reason -> raise (Bad (certificate ^ " must be a certificate of krohn; " ^ reason)) in
        match Checker.claimed numbers with
        | None -> raise (Bad (certificate ^ " must make a claim of a kind that is known; it does not"))
        | Some claim ->
            let right = Checker.check bytes numbers in
            print_endline ((if right then "proved: " else "not proved: ") ^ meaning claim);
            exit (if right then 0 else 1)
      with
      | Bad reason -> refuse reason
      | Sys_error reason -> refuse ("a file must be readable; " ^ reason)
      | Stack_overflow -> refuse "the stack must be larger: ulimit -s unlimited"
      | Out_of_memory -> refuse "there must be more memory")
  | _ -> refuse "usage: krohn-kernel NETWORK.safetensors CERTIFICATE.json"
