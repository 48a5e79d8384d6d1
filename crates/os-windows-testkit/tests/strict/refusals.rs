// UNSAFETY: interfaces of COM are called, as a client without our care would.
#![expect(unsafe_code)]

use os::Hresult;
use os::schema::Namespace;
use os_sim::{ClockMode, Inventory, NodeSpec, SimNode};
use os_windows::Connect;
use wincsi_os_windows_testkit::{InProcessWmi, OutParameters};
use windows::Win32::System::Variant::{VARIANT, VT_BSTR, VT_NULL};
use windows::Win32::System::Wmi::{
    IEnumWbemClassObject, IWbemCallResult, IWbemClassObject, IWbemServices,
    WBEM_FLAG_ENSURE_LOCATABLE, WBEM_FLAG_FORWARD_ONLY, WBEM_FLAG_RETURN_IMMEDIATELY,
    WBEM_GENERIC_FLAG_TYPE, WBEM_S_FALSE,
};
use windows::core::{BSTR, HRESULT, HSTRING, PCWSTR, Result};

const INVALID_METHOD_PARAMETERS: Hresult = Hresult(0x8004_102F);
const INVALID_OPERATION: Hresult = Hresult(0x8004_1016);
const INVALID_QUERY_TYPE: Hresult = Hresult(0x8004_1018);

/// A node with its system disk, and a connection to its storage namespace.
struct Client {
    services: IWbemServices,
    _node: SimNode,
}

impl Client {
    fn new() -> Self {
        let spec = NodeSpec::default();
        let node = SimNode::in_memory(&spec, Inventory::of(0), ClockMode::Virtual).expect("a node");
        let wmi = InProcessWmi::over(node.os(), OutParameters::Result);
        Self {
            services: wmi.connect(Namespace::Storage).expect("a connection"),
            _node: node,
        }
    }

    fn query(&self, query: &str, more: WBEM_GENERIC_FLAG_TYPE) -> IEnumWbemClassObject {
        let flags = WBEM_FLAG_FORWARD_ONLY | WBEM_FLAG_RETURN_IMMEDIATELY | more;
        // SAFETY: the strings are whole and outlive the call.
        let found = unsafe {
            self.services
                .ExecQuery(&BSTR::from("WQL"), &BSTR::from(query), flags, None)
        };
        found.expect("errors come with the answers")
    }

    /// The first object of a query.
    fn first(&self, query: &str, more: WBEM_GENERIC_FLAG_TYPE) -> IWbemClassObject {
        let (status, object) = next(&self.query(query, more));
        assert!(status.is_ok(), "{status}");
        object.expect("an object")
    }

    fn definition(&self, path: &str) -> Result<IWbemClassObject> {
        let mut object = None;
        // SAFETY: the string is whole, the place is empty; both outlive the call.
        unsafe {
            self.services.GetObject(
                &BSTR::from(path),
                WBEM_GENERIC_FLAG_TYPE(0),
                None,
                Some(&raw mut object),
                None,
            )
        }?;
        Ok(object.expect("an object"))
    }

    /// Begins to fetch the definition of disks.
    fn begin_definition(
        &self,
        object: Option<*mut Option<IWbemClassObject>>,
    ) -> Result<IWbemCallResult> {
        let mut running = None;
        // SAFETY: the string is whole, the places are empty; all outlive the call.
        unsafe {
            self.services.GetObject(
                &BSTR::from("MSFT_Disk"),
                WBEM_FLAG_RETURN_IMMEDIATELY,
                None,
                object,
                Some(&raw mut running),
            )
        }?;
        Ok(running.expect("a call"))
    }

    /// The in-parameters of a method of disks.
    fn input(&self, method: &str) -> IWbemClassObject {
        let definition = self.definition("MSFT_Disk").expect("a class");
        let (mut input, mut output) = (None, None);
        let name = HSTRING::from(method);
        // SAFETY: the name is whole, both places are empty; all outlive the call.
        let got = unsafe {
            definition.GetMethod(PCWSTR(name.as_ptr()), 0, &raw mut input, &raw mut output)
        };
        got.expect("a method");
        let input: IWbemClassObject = input.expect("in-parameters");
        // SAFETY: the interface is alive.
        unsafe { input.SpawnInstance(0) }.expect("an instance")
    }

    fn run(&self, path: &str, method: &str, input: Option<&IWbemClassObject>) -> Option<Hresult> {
        self.begin(path, method, input, None)
    }

    fn begin(
        &self,
        path: &str,
        method: &str,
        input: Option<&IWbemClassObject>,
        output: Option<*mut Option<IWbemClassObject>>,
    ) -> Option<Hresult> {
        let mut running = None;
        // SAFETY: all arguments are whole, the places are empty; all outlive the call.
        let begun = unsafe {
            self.services.ExecMethod(
                &BSTR::from(path),
                &BSTR::from(method),
                WBEM_FLAG_RETURN_IMMEDIATELY,
                None,
                input,
                output,
                Some(&raw mut running),
            )
        };
        code(begun)
    }
}

const NOTHING_MORE: WBEM_GENERIC_FLAG_TYPE = WBEM_GENERIC_FLAG_TYPE(0);

fn code<T>(result: Result<T>) -> Option<Hresult> {
    result.err().map(|error| hresult(error.code()))
}

fn hresult(code: HRESULT) -> Hresult {
    Hresult(code.0.cast_unsigned())
}

fn next(answers: &IEnumWbemClassObject) -> (HRESULT, Option<IWbemClassObject>) {
    let mut place = [None];
    let mut count = 0;
    // SAFETY: there is one place, and it is empty.
    let status = unsafe { answers.Next(-1, &mut place, &raw mut count) };
    let [object] = place;
    assert_eq!(count == 1, object.is_some());
    (status, object)
}

fn put(object: &IWbemClassObject, name: &str, value: &VARIANT) -> Option<Hresult> {
    let name = HSTRING::from(name);
    // SAFETY: name and value are whole and outlive the call.
    code(unsafe { object.Put(PCWSTR(name.as_ptr()), 0, value, 0) })
}

fn read(object: &IWbemClassObject, name: &str) -> Result<VARIANT> {
    let name = HSTRING::from(name);
    let mut value = VARIANT::default();
    // SAFETY: the name is whole and the VARIANT empty; both outlive the call.
    unsafe { object.Get(PCWSTR(name.as_ptr()), 0, &raw mut value, None, None) }?;
    Ok(value)
}

#[test]
fn a_value_is_taken_in_its_own_variant_alone() {
    let client = Client::new();
    let input = client.input("CreatePartition");
    let mismatch = Some(Hresult::WBEM_E_TYPE_MISMATCH);
    for (name, wrong) in [
        ("Size", VARIANT::from(5)),
        ("Size", VARIANT::from("five")),
        ("Size", VARIANT::from("-5")),
        ("Size", VARIANT::from("18446744073709551616")),
        ("UseMaximumSize", VARIANT::from(1)),
        ("Alignment", VARIANT::from("4096")),
        ("Alignment", VARIANT::from(4096_u32)),
        ("MbrType", VARIANT::from(-1)),
        ("MbrType", VARIANT::from(0x1_0000)),
        ("GptType", VARIANT::from(7)),
    ] {
        assert_eq!(put(&input, name, &wrong), mismatch, "{name}");
    }
    for (name, right) in [
        ("Size", VARIANT::from("18446744073709551615")),
        ("UseMaximumSize", VARIANT::from(true)),
        ("Alignment", VARIANT::from(-1)),
        ("MbrType", VARIANT::from(0xFFFF)),
    ] {
        assert_eq!(put(&input, name, &right), None, "{name}");
    }
}

#[test]
fn what_a_method_does_not_take_is_not_found() {
    let client = Client::new();
    let input = client.input("CreatePartition");
    let missing = Some(Hresult::WBEM_E_NOT_FOUND);
    for name in ["Elsewhere", "ReturnValue", "CreatedPartition"] {
        assert_eq!(put(&input, name, &VARIANT::from(1)), missing, "{name}");
    }
}

#[test]
fn an_object_has_what_was_selected_and_no_more() {
    let client = Client::new();
    let disk = client.first("SELECT Number FROM MSFT_Disk", NOTHING_MORE);
    assert!(read(&disk, "number").is_ok());
    let size = read(&disk, "Size").map(|value| value.vt());
    assert_eq!(code(size), Some(Hresult::WBEM_E_NOT_FOUND));
}

#[test]
fn a_path_comes_with_the_keys_or_when_it_is_asked_for() {
    let client = Client::new();
    let path = |query: &str, flags| {
        let disk = client.first(query, flags);
        read(&disk, "__PATH").expect("each object has it").vt()
    };
    assert_eq!(path("SELECT Number FROM MSFT_Disk", NOTHING_MORE), VT_NULL);
    let keys = "SELECT Number, ObjectId FROM MSFT_Disk";
    assert_eq!(path(keys, NOTHING_MORE), VT_BSTR);
    let located = WBEM_FLAG_ENSURE_LOCATABLE;
    assert_eq!(path("SELECT Number FROM MSFT_Disk", located), VT_BSTR);
}

#[test]
fn answers_come_once() {
    let client = Client::new();
    let answers = client.query("SELECT Number FROM MSFT_Disk", NOTHING_MORE);
    assert!(next(&answers).1.is_some());
    for _ in 0..2 {
        let (status, object) = next(&answers);
        assert_eq!(status, HRESULT(WBEM_S_FALSE.0));
        assert!(object.is_none());
    }
    // SAFETY: the interface is alive.
    assert_eq!(code(unsafe { answers.Reset() }), Some(INVALID_OPERATION));
}

#[test]
fn what_is_wrong_with_a_query_is_told_with_its_answers() {
    let client = Client::new();
    for (query, wanted) in [
        (
            "SELECT Number FROM MSFT_Elsewhere",
            Hresult::WBEM_E_INVALID_CLASS,
        ),
        (
            "SELECT RemotePath FROM MSFT_SmbGlobalMapping",
            Hresult::WBEM_E_INVALID_CLASS,
        ),
        (
            "SELECT Elsewhere FROM MSFT_Disk",
            Hresult::WBEM_E_INVALID_QUERY,
        ),
        (
            "SELECT Number FROM MSFT_Disk WHERE Number = '1'",
            Hresult::WBEM_E_INVALID_QUERY,
        ),
        (
            "SELECT Number FROM MSFT_Disk WHERE Number = -1",
            Hresult::WBEM_E_INVALID_QUERY,
        ),
        ("SELECT Number MSFT_Disk", Hresult::WBEM_E_INVALID_QUERY),
    ] {
        let (status, _) = next(&client.query(query, NOTHING_MORE));
        assert_eq!(hresult(status), wanted, "{query}");
    }
}

#[test]
fn another_language_is_refused() {
    let client = Client::new();
    let query = BSTR::from("SELECT Number FROM MSFT_Disk");
    // SAFETY: the strings are whole and outlive the call.
    let asked = unsafe {
        client
            .services
            .ExecQuery(&BSTR::from("CQL"), &query, WBEM_FLAG_FORWARD_ONLY, None)
    };
    assert_eq!(code(asked), Some(INVALID_QUERY_TYPE));
}

#[test]
fn a_method_is_called_where_it_is_and_with_what_it_needs() {
    let client = Client::new();
    let disk = r#"MSFT_Disk.ObjectId="x""#;
    let setting = "MSFT_StorageSetting";
    let input = client.input("Initialize");
    for (path, method, input, wanted) in [
        (disk, "Elsewhere", None, Hresult::WBEM_E_INVALID_METHOD),
        (setting, "Refresh", None, Hresult::WBEM_E_INVALID_METHOD),
        ("MSFT_Disk", "Refresh", None, INVALID_METHOD_PARAMETERS),
        (disk, "Refresh", Some(&input), INVALID_METHOD_PARAMETERS),
        (
            disk,
            "CreatePartition",
            Some(&input),
            INVALID_METHOD_PARAMETERS,
        ),
        (
            r#"MSFT_Partition.ObjectId="x""#,
            "Resize",
            None,
            INVALID_METHOD_PARAMETERS,
        ),
        (
            r#"MSFT_Disk.ObjectId="x"#,
            "Refresh",
            None,
            Hresult(0x8004_103A),
        ),
        (
            r#"\\X\Root\CimV2:MSFT_Disk.ObjectId="x""#,
            "Refresh",
            None,
            Hresult::WBEM_E_INVALID_NAMESPACE,
        ),
    ] {
        assert_eq!(
            client.run(path, method, input),
            Some(wanted),
            "{path} {method}"
        );
    }
    assert_eq!(client.run(setting, "UpdateHostStorageCache", None), None);
}

/// The end is a success code, hidden by the crate's own wrapper: no name was written.
#[test]
fn the_properties_of_an_object_are_enumerated_to_their_end() {
    let client = Client::new();
    let disk = client.first("SELECT Number, ObjectId FROM MSFT_Disk", NOTHING_MORE);
    let mut names = Vec::new();
    // SAFETY: the interface is alive.
    unsafe { disk.BeginEnumeration(0) }.expect("a beginning");
    loop {
        let mut name = BSTR::new();
        let mut value = VARIANT::default();
        let (mut cim, mut flavor) = (0, 0);
        // SAFETY: the places are empty and outlive the call.
        let next = unsafe { disk.Next(0, &mut name, &mut value, &mut cim, &mut flavor) };
        next.expect("a property or the end");
        if name.is_empty() {
            break;
        }
        names.push(name.to_string());
    }
    assert_eq!(names, ["Number", "ObjectId"]);
}

#[test]
fn only_classes_can_be_had_as_objects() {
    let client = Client::new();
    assert!(client.definition("MSFT_Disk").is_ok());
    let elsewhere = code(client.definition("MSFT_Elsewhere"));
    assert_eq!(elsewhere, Some(Hresult::WBEM_E_INVALID_CLASS));
    let object = code(client.definition(r#"MSFT_Disk.ObjectId="x""#));
    assert_eq!(object, Some(Hresult(0x8004_1024)));
}

/// Read in [MS-WMI] 3.1.4.3.4: a semisynchronous call is queried for its object, and leaves its place empty.
#[test]
fn a_definition_that_returns_at_once_leaves_its_place_empty() {
    let client = Client::new();
    let mut object = None;
    for place in [None, Some(&raw mut object)] {
        let begun = client.begin_definition(place).expect("a call");
        // SAFETY: the interface is alive.
        let class = unsafe { begun.GetResultObject(-1) }.expect("a class");
        assert!(read(&class, "__CLASS").is_ok());
    }
    assert!(object.is_none());
}

/// Read in [MS-WMI] 3.2.4.2.7: a semisynchronous call is queried for its out-parameters.
#[test]
fn a_method_that_returns_at_once_has_no_place_for_its_out_parameters() {
    let client = Client::new();
    let (class, method) = ("MSFT_StorageSetting", "UpdateHostStorageCache");
    let mut output = None;
    let begun = client.begin(class, method, None, Some(&raw mut output));
    assert_eq!(begun, Some(Hresult::WBEM_E_INVALID_PARAMETER));
    assert!(output.is_none());
    assert_eq!(client.run(class, method, None), None);
}
